"""Builds the wheel: a PEP 517 backend.

The wheel puts flare, precompiled, beside the standard library of the Mojo
compiler, `modular/lib/mojo` in site-packages, where the compiler of the same
environment looks for imports without any flag. Programs build as from the
sources, but seconds faster: the compiler does not parse the library again.
It also installs tools/ship.py as the command `flare-ship`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
import tempfile
import zipfile
from pathlib import Path

from mojo.run import subprocess_run_mojo

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "modular/lib/mojo/flare.mojoc"
# Sources that the wheel holds under another name. The package of the command is
# not called flare: that name belongs to another project of Python.
COMMANDS = {"mojo_flare/ship.py": "tools/ship.py"}
ENTRY_POINTS = """[console_scripts]
flare-ship = mojo_flare.ship:main
"""
TAG = "py3-none-any"
WHEEL = f"""Wheel-Version: 1.0
Generator: mojo-flare
Root-Is-Purelib: true
Tag: {TAG}
"""


def project() -> dict:
    """Reads the project table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def file_stem() -> str:
    """Gives the name and version as file names spell them."""
    return f"{project()['name'].replace('-', '_')}-{project()['version']}"


def metadata() -> str:
    """Writes the core metadata (version 2.4)."""
    table = project()
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", table["name"]),
        ("Version", table["version"]),
        ("Summary", table["description"]),
        ("License-Expression", table["license"]),
        *(("License-File", name) for name in table["license-files"]),
        ("Keywords", ",".join(table["keywords"])),
        ("Requires-Python", table["requires-python"]),
        *(("Requires-Dist", name) for name in table["dependencies"]),
        ("Description-Content-Type", "text/markdown"),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return head + "\n" + (ROOT / table["readme"]).read_text()


def library_files() -> list[Path]:
    """Lists the sources of the library."""
    return sorted((ROOT / "flare").glob("**/*.mojo"))


def precompile() -> bytes:
    """Compiles flare/ to the one file that the compiler imports."""
    os.environ.setdefault("MODULAR_CRASH_REPORTING_ENABLED", "false")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "flare.mojoc"
        subprocess_run_mojo(
            ["precompile", "--disable-warnings", "flare", "-o", str(target)],
            cwd=ROOT,
            check=True,
        )
        return target.read_bytes()


def information_files() -> dict[str, bytes]:
    """Maps each name in the .dist-info folder, but RECORD, to its content."""
    files = {
        f"licenses/{name}": (ROOT / name).read_bytes()
        for name in project()["license-files"]
    }
    return {
        **files,
        "METADATA": metadata().encode(),
        "WHEEL": WHEEL.encode(),
        "entry_points.txt": ENTRY_POINTS.encode(),
    }


def record_line(name: str, content: bytes) -> str:
    """Writes the line of one file in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"{name},sha256={digest.decode().rstrip('=')},{len(content)}\n"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes the .dist-info folder without compiling, and returns its name."""
    folder = f"{file_stem()}.dist-info"
    for name, content in information_files().items():
        target = Path(metadata_directory) / folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel and returns its file name."""
    folder = f"{file_stem()}.dist-info"
    files = {PACKAGE: precompile(), "mojo_flare/__init__.py": b""}
    for name, source in COMMANDS.items():
        files[name] = (ROOT / source).read_bytes()
    for name, content in information_files().items():
        files[f"{folder}/{name}"] = content
    record = f"{folder}/RECORD"
    lines = [record_line(name, content) for name, content in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    name = f"{file_stem()}-{TAG}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Builds an archive that holds what building the wheel needs."""
    names = ["pyproject.toml", "README.md", "tools/wheel_backend.py"]
    names += [*COMMANDS.values(), *project()["license-files"]]
    name = f"{file_stem()}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz") as archive:
        for path in [*library_files(), *(ROOT / name for name in names)]:
            inside = f"{file_stem()}/{path.relative_to(ROOT).as_posix()}"
            archive.add(path, inside)
        entry = tarfile.TarInfo(f"{file_stem()}/PKG-INFO")
        content = metadata().encode()
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return name
