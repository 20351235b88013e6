"""Builds the wheel: a PEP 517 backend.

The wheel puts flare, precompiled, beside the standard library of the Mojo
compiler, `modular/lib/mojo` in site-packages, where the compiler of the same
environment looks for imports without any flag. Programs build as from the
sources, but seconds faster: the compiler does not parse the library again.
On x86-64 Linux it also holds the driver library, beside those of the runtime,
where every program looks for libraries: the package is then one whose programs
call it (flare/sys/driver.mojo). The wheel installs tools/ship.py as the command
`flare-ship`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

from mojo.run import subprocess_run_mojo

from driver_library import HAS_DRIVER, BuildError, make_driver
from library_package import ENVIRONMENT, precompile
from ship import ORIGIN, Elf, dependencies, versions

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
# The package that calls no library, of which a program compiles everything:
# `flare-whole build`.
WHOLE = ROOT / "build" / "package" / "flare.mojoc"
LIBRARIES = "modular/lib"
PACKAGE = f"{LIBRARIES}/mojo/flare.mojoc"
WHOLE_PACKAGE = "mojo_flare/whole/flare.mojoc"
# What the wheel is built with, besides the library.
TOOLS = ("driver.mojo", "driver_library.py", "library_package.py", "wheel_backend.py")
# Sources that the wheel holds under another name. The package of the command is
# not called flare: that name belongs to another project of Python.
COMMANDS = {
    "mojo_flare/ship.py": "tools/ship.py",
    "mojo_flare/whole.py": "tools/whole.py",
}
ENTRY_POINTS = """[console_scripts]
flare-ship = mojo_flare.ship:main
flare-whole = mojo_flare.whole:main
"""
PURE_TAG = "py3-none-any"
WHEEL = """Wheel-Version: 1.0
Generator: mojo-flare
Root-Is-Purelib: {purelib}
Tag: {tag}
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


def compile_library() -> tuple[str, dict[str, bytes]]:
    """Compiles flare/ to the file that the compiler imports, to the driver
    library that it calls, and to one that calls none. Gives the tag of a wheel
    with them, and maps their names to their contents."""
    problem = precompile(ROOT, run_mojo)
    if problem:
        raise BuildError(problem)
    if not HAS_DRIVER:
        return PURE_TAG, {PACKAGE: WHOLE.read_bytes()}
    library = make_driver(ROOT, run_mojo)
    with tempfile.TemporaryDirectory() as folder:
        shipped = Path(folder) / library.name
        shutil.copyfile(library, shipped)
        tag = tag_of(shipped)
        # Those of the machine that has built it are of no use elsewhere.
        Elf(shipped).set_search_path(ORIGIN)
        return tag, {
            PACKAGE: (library.parent / "flare.mojoc").read_bytes(),
            f"{LIBRARIES}/{library.name}": shipped.read_bytes(),
            WHOLE_PACKAGE: WHOLE.read_bytes(),
        }


def run_mojo(arguments: list[str], folder: Path | None = None) -> tuple[int, str]:
    """Runs the compiler of the environment."""
    # The function passes an environment of its own, which has these.
    os.environ.update(ENVIRONMENT)
    finished = subprocess_run_mojo(
        arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return finished.returncode, finished.stdout.decode(errors="replace")


def tag_of(library: Path) -> str:
    """Gives the tag of a wheel with a library: which systems can use it, and the
    libraries of the runtime, which ask for a newer libc."""
    folders = [Path(x) for x in Elf(library).search_path() if x[0] == "/"]
    files = [library, *dependencies([Elf(library)], folders)[0]]
    asked = versions([file.read_bytes() for file in files])
    major, minor = asked["GLIBC"].split(".")[:2]
    return f"py3-none-manylinux_{major}_{minor}_x86_64"


def information_files(tag: str) -> dict[str, bytes]:
    """Maps each name in the .dist-info folder, but RECORD, to its content."""
    purelib = str(tag == PURE_TAG).lower()
    files = {
        f"licenses/{name}": (ROOT / name).read_bytes()
        for name in project()["license-files"]
    }
    return {
        **files,
        "METADATA": metadata().encode(),
        "WHEEL": WHEEL.format(tag=tag, purelib=purelib).encode(),
        "entry_points.txt": ENTRY_POINTS.encode(),
    }


def record_line(name: str, content: bytes) -> str:
    """Writes the line of one file in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"{name},sha256={digest.decode().rstrip('=')},{len(content)}\n"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes the .dist-info folder without compiling, and returns its name.

    Only the compiled library tells the libc that is part of the wheel's tag."""
    folder = f"{file_stem()}.dist-info"
    tag = "py3-none-linux_x86_64" if HAS_DRIVER else PURE_TAG
    for name, content in information_files(tag).items():
        target = Path(metadata_directory) / folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel and returns its file name."""
    folder = f"{file_stem()}.dist-info"
    tag, files = compile_library()
    files["mojo_flare/__init__.py"] = b""
    for name, source in COMMANDS.items():
        files[name] = (ROOT / source).read_bytes()
    for name, content in information_files(tag).items():
        files[f"{folder}/{name}"] = content
    record = f"{folder}/RECORD"
    lines = [record_line(name, content) for name, content in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    name = f"{file_stem()}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Builds an archive that holds what building the wheel needs."""
    names = ["pyproject.toml", "README.md", *(f"tools/{x}" for x in TOOLS)]
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
