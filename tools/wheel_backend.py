"""Builds the wheel: a PEP 517 backend without dependencies.

The wheel puts the sources of flare/ beside the standard library of the Mojo
compiler, `modular/lib/mojo` in site-packages, where the compiler of the same
environment looks for imports without any flag.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
IMPORT_FOLDER = "modular/lib/mojo"
TAG = "py3-none-any"
# The same tree gives the same archive, octet by octet.
TIME = (1980, 1, 1, 0, 0, 0)
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
    """Lists the sources that are installed."""
    return sorted((ROOT / "flare").glob("**/*.mojo"))


def wheel_files() -> dict[str, bytes]:
    """Maps each name inside the wheel, but RECORD, to its content."""
    files = {
        f"{IMPORT_FOLDER}/{path.relative_to(ROOT).as_posix()}": path.read_bytes()
        for path in library_files()
    }
    information = f"{file_stem()}.dist-info"
    for name in project()["license-files"]:
        content = (ROOT / name).read_bytes()
        files[f"{information}/licenses/{name}"] = content
    files[f"{information}/METADATA"] = metadata().encode()
    files[f"{information}/WHEEL"] = WHEEL.encode()
    return files


def record_line(name: str, content: bytes) -> str:
    """Writes the line of one file in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"{name},sha256={digest.decode().rstrip('=')},{len(content)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel and returns its file name."""
    files = wheel_files()
    record = f"{file_stem()}.dist-info/RECORD"
    lines = [record_line(name, content) for name, content in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    name = f"{file_stem()}-{TAG}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Builds an archive that holds what building the wheel needs."""
    names = ["pyproject.toml", "README.md", "tools/wheel_backend.py"]
    names += project()["license-files"]
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
