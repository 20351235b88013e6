"""Makes the folder of a program: the executable and what it needs beside it.

In a checkout `make ship PROGRAM=hello.mojo` calls this file. The wheel installs
it as the command `flare-ship`, for users who installed flare with pip. It needs
Python and the Mojo compiler of its environment, no more.

The executable finds its libraries by `$ORIGIN`, so the folder may lie anywhere.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import shutil
import struct
import sys
import tempfile
from pathlib import Path

# Processors since 2013: the runtime of Mojo runs on no older ones. Without a
# choice the compiler takes the processor that it runs on.
TARGET_CPU = {"x86_64": "x86-64-v3"}.get(platform.machine(), "generic")
ORIGIN = b"$ORIGIN"
# What the library says where it cannot load one of these. A program that holds
# the sentence can load it: only code that a program uses is linked into it.
LOADED = (
    (b"OpenSSL 3 is not installed", "TLS", "libssl.so.3, libcrypto.so.3", "libssl3"),
    (b"libcrypto.so.3 of OpenSSL 3", "encryption", "libcrypto.so.3", "libssl3"),
    (b"zlib is not installed", "gzip and deflate", "libz.so.1", "zlib1g"),
    (
        b"Brotli is not installed",
        "Brotli",
        "libbrotlienc.so.1, libbrotlidec.so.1",
        "libbrotli1",
    ),
    (b"Zstandard is not installed", "Zstandard", "libzstd.so.1", "libzstd1"),
    (b"libsqlite3.so.0 of version ", "SQLite", "libsqlite3.so.0", "libsqlite3-0"),
    (b"libpq.so.5 of version ", "PostgreSQL", "libpq.so.5", "libpq5"),
)
# As above: `NotifySocket.from_systemd` and `Listener.from_systemd`.
NOTIFIES = b" is neither an absolute path nor an abstract name"
IS_ACTIVATED = b"LISTEN_FDS is not 1 to 1,024"
# A program that calls the driver library loads it by this name. The library can
# load them all: the program says by these whether it has a client, or a server
# with TLS.
DRIVER = re.compile(rb"libflare_driver_[0-9a-f]+\.so")
HAS_CLIENT = b"client.no_driver"
OF_CLIENT = ("TLS", "gzip and deflate", "Brotli", "Zstandard")
HAS_TLS_SERVER = b"tls.no_driver"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# Only a folder that has this is replaced.
MARK = Path("licences", "flare.txt")
SYMBOL_VERSION = re.compile(rb"\0(GLIBC|GLIBCXX)_([0-9.]+)(?=\0)")


class ShipError(Exception):
    """Says why there is no folder."""


class Elf:
    """Reads the dynamic section of a 64-bit little-endian ELF file."""

    NEEDED, STRINGS, RPATH, RUNPATH = 1, 5, 15, 29

    def __init__(self, path: Path):
        self.path = path
        self.octets = path.read_bytes()
        if self.octets[:6] != b"\x7fELF\x02\x01":
            raise ShipError(f"{path} is no 64-bit ELF file")
        self._segments = self._read_segments()
        self._entries = self._read_entries()

    def _read_segments(self) -> list[tuple[int, int, int, int]]:
        start = struct.unpack_from("<Q", self.octets, 32)[0]
        size, count = struct.unpack_from("<HH", self.octets, 54)
        found = []
        for i in range(count):
            kind, _, offset, address, _, length = struct.unpack_from(
                "<IIQQQQ", self.octets, start + i * size
            )
            found.append((kind, offset, address, length))
        return found

    def _read_entries(self) -> list[tuple[int, int]]:
        dynamic = [x for x in self._segments if x[0] == 2]
        if not dynamic:
            raise ShipError(f"{self.path} is linked statically")
        _, offset, _, length = dynamic[0]
        pairs = struct.iter_unpack("<QQ", self.octets[offset : offset + length])
        return list(pairs)

    def _offset(self, address: int) -> int:
        for kind, offset, start, length in self._segments:
            if kind == 1 and start <= address < start + length:
                return offset + address - start
        raise ShipError(f"{self.path} has no octets at {address:#x}")

    def _places(self, *tags: int) -> list[int]:
        """Gives where the strings of entries lie in the file."""
        strings = next(
            self._offset(value) for tag, value in self._entries if tag == self.STRINGS
        )
        return [strings + value for tag, value in self._entries if tag in tags]

    def _text(self, place: int) -> str:
        return self.octets[place : self.octets.index(b"\0", place)].decode()

    def needed(self) -> list[str]:
        """Gives the names of the libraries that the loader looks for."""
        return [self._text(place) for place in self._places(self.NEEDED)]

    def search_path(self) -> list[str]:
        """Gives the folders where the loader looks first."""
        places = self._places(self.RPATH, self.RUNPATH)
        return [x for place in places for x in self._text(place).split(":")]

    def set_search_path(self, path: bytes) -> None:
        """Writes another search path over the present one, which is longer."""
        octets = bytearray(self.octets)
        for place in self._places(self.RPATH, self.RUNPATH):
            room = octets.index(b"\0", place) - place
            if room < len(path):
                raise ShipError(f"{self.path} has no room for a search path")
            octets[place : place + room] = path.ljust(room, b"\0")
        self.path.write_bytes(octets)
        self.octets = bytes(octets)


def compile_program(source: Path, target: Path, cpu: str, options: list[str]):
    """Builds the executable, which finds libraries beside itself."""
    from mojo.run import subprocess_run_mojo

    os.environ.setdefault("MODULAR_CRASH_REPORTING_ENABLED", "false")
    linking = ["-Xlinker", "-rpath", "-Xlinker", ORIGIN.decode()]
    command = ["build", "--target-cpu", cpu, *linking, *options]
    finished = subprocess_run_mojo([*command, "-o", str(target), str(source)])
    if finished.returncode != 0:
        raise ShipError(f"mojo build ended with {finished.returncode}")


def collect(program: Elf, folders: list[Path]) -> tuple[list[Path], list[str]]:
    """Gives the libraries that go beside a program, and the names of those that
    the system must have."""
    driver = driver_of(program, folders)
    loaded_later = [driver] if driver else []
    beside, system = dependencies([program, *map(Elf, loaded_later)], folders)
    return [*loaded_later, *beside], system


def dependencies(
    files: list[Elf], folders: list[Path]
) -> tuple[list[Path], list[str]]:
    """Gives the libraries of folders that files need, and the names of others
    that they need."""
    beside: list[Path] = []
    system: list[str] = []
    waiting = list(files)
    while waiting:
        for name in waiting.pop().needed():
            found = [x / name for x in folders if (x / name).exists()]
            if found and found[0] not in beside:
                beside.append(found[0])
                waiting.append(Elf(found[0]))
            elif not found and name not in system:
                system.append(name)
    return beside, sorted(system)


def driver_of(program: Elf, folders: list[Path]) -> Path | None:
    """Gives the driver library that a program loads."""
    name = DRIVER.search(program.octets)
    if not name:
        return None
    for folder in folders:
        path = folder / name[0].decode()
        if path.exists():
            return path
    raise ShipError(f"{name[0].decode()} is missing: install flare again")


def versions(files: list[bytes]) -> dict[str, str]:
    """Gives the newest version of libc and of libstdc++ that files ask for."""
    newest: dict[str, tuple[int, ...]] = {}
    for octets in files:
        for name, text in SYMBOL_VERSION.findall(octets):
            version = tuple(int(x) for x in text.decode().split("."))
            key = name.decode()
            newest[key] = max(newest.get(key, (0,)), version)
    return {name: ".".join(map(str, x)) for name, x in newest.items()}


def licence_of_flare() -> str:
    """Gives the text that goes along with every copy of the library."""
    beside = Path(__file__).resolve().parent.parent / "LICENSE"
    if beside.exists():
        return beside.read_text()
    files = importlib.metadata.files("mojo-flare") or []
    return next(x for x in files if x.name == "LICENSE").read_text()


def licence_of_mojo() -> str:
    """Says under which licence the runtime libraries come."""
    fields = importlib.metadata.metadata("mojo-compiler")
    return (
        f"{fields['Name']} {fields['Version']} of {fields['Author']}, which the"
        f" libraries in this folder belong to, has the licence\n"
        f"{fields['License']}. The package has no text of it: see"
        f" {fields['Home-page']}.\n"
    )


def unit(name: str, notifies: bool, is_activated: bool) -> str:
    """Writes the systemd unit of the service."""
    lines = [
        f"# Copy to /etc/systemd/system/{name}.service.",
        "[Unit]",
        f"Description={name}",
    ]
    if is_activated:
        lines += [f"Requires={name}.socket", f"After={name}.socket"]
    else:
        lines += ["Wants=network-online.target", "After=network-online.target"]
    lines += [
        "",
        "[Service]",
        f"ExecStart=/opt/{name}/{name}",
        "Type=notify" if notifies else "Type=exec",
    ]
    if notifies:
        lines += ["WatchdogSec=30"]
    lines += [
        "Restart=on-failure",
        "# Longer than shutdown_timeout_ms, within which the server stops.",
        "TimeoutStopSec=20",
        "# The server raises its soft limit to this.",
        "LimitNOFILE=524288",
        "DynamicUser=yes",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
        "# io_uring is none of @system-service; without it the server takes epoll.",
        "SystemCallFilter=@system-service io_uring_setup io_uring_enter"
        " io_uring_register",
        "SystemCallErrorNumber=EPERM",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ]
    return "\n".join(lines)


def socket_unit(name: str) -> str:
    """Writes the systemd unit of the listening socket."""
    return "\n".join(
        [
            f"# Copy to /etc/systemd/system/{name}.socket.",
            "[Socket]",
            "ListenStream=8080",
            "Backlog=4096",
            "",
            "[Install]",
            "WantedBy=sockets.target",
            "",
        ]
    )


def dockerfile(name: str, files: list[str], packages: list[str]) -> str:
    """Writes the Dockerfile."""
    wanted = " ".join(["libstdc++6", *packages])
    return "\n".join(
        [
            f"# docker build -t {name} .",
            "FROM debian:12-slim",
            "RUN apt-get update \\",
            f"    && apt-get install -y --no-install-recommends {wanted} \\",
            "    && rm -rf /var/lib/apt/lists/*",
            f"COPY {' '.join(files)} /opt/{name}/",
            "USER 65534:65534",
            "# The server stops when it gets SIGTERM, also as process 1.",
            "STOPSIGNAL SIGTERM",
            f'ENTRYPOINT ["/opt/{name}/{name}"]',
            "",
        ]
    )


def loaded(octets: bytes) -> list[tuple[bytes, str, str, str]]:
    """Gives the rows of `LOADED` that a program can load."""
    by_driver = ()
    if HAS_CLIENT in octets:
        by_driver = OF_CLIENT
    elif HAS_TLS_SERVER in octets:
        by_driver = ("TLS",)
    return [x for x in LOADED if x[0] in octets or x[1] in by_driver]


def readme(name: str, cpu: str, files: list[Path], system: list[str]) -> str:
    """Writes what the folder holds and needs."""
    rows = loaded(files[0].read_bytes())
    asked = versions([file.read_bytes() for file in files])
    lines = [
        f"{name} and the libraries of the Mojo runtime. Copy this folder"
        f" anywhere and start {name} in it. The loader needs /proc.",
        "",
        f"Processor: {cpu}, or a newer one of its kind",
        "Kernel:    Linux; the server takes io_uring from 6.0 on, else epoll",
        f"libc:      GNU libc {asked.get('GLIBC', '2.2.5')} or newer",
        f"libstdc++: GLIBCXX_{asked.get('GLIBCXX', '3.4')} or newer",
        f"From the system: {', '.join(system)}",
    ]
    if rows:
        lines += [
            "",
            "These are loaded from the system (dlopen), each when it is first"
            " used:",
            "",
        ]
        lines += [f"{use}: {names} (Debian: {x})" for _, use, names, x in rows]
    lines += ["", "Licences: see the folder licences.", ""]
    return "\n".join(lines)


def ship(source: Path, into: Path, cpu: str, options: list[str]) -> Path:
    """Makes the folder of a program; gives its path."""
    name = source.stem
    if not NAME.fullmatch(name):
        raise ShipError(f"a service cannot be called {name!r}")
    folder = into / name
    if folder.exists() and not (folder / MARK).exists():
        raise ShipError(f"{folder} exists and is none of flare-ship's")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as holder:
        made = Path(holder) / name
        made.mkdir()
        compile_program(source, made / name, cpu, options)
        fill(made, name, cpu)
        # The old program may be running: its files are replaced, not changed.
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    return folder


def fill(folder: Path, name: str, cpu: str) -> None:
    """Puts everything else beside the executable."""
    program = Elf(folder / name)
    folders = [Path(x) for x in program.search_path() if x.startswith("/")]
    beside, system = collect(program, folders)
    program.set_search_path(ORIGIN)
    for library in beside:
        shutil.copy(library, folder / library.name)
        if DRIVER.match(library.name.encode()):
            Elf(folder / library.name).set_search_path(ORIGIN)
    files = [folder / name, *(folder / x.name for x in beside)]
    octets = program.octets
    is_activated = IS_ACTIVATED in octets
    packages = list(dict.fromkeys(x for _, _, _, x in loaded(octets)))
    if "libssl3" in packages:
        packages.insert(0, "ca-certificates")
    (folder / f"{name}.service").write_text(
        unit(name, NOTIFIES in octets, is_activated)
    )
    if is_activated:
        (folder / f"{name}.socket").write_text(socket_unit(name))
    (folder / "Dockerfile").write_text(
        dockerfile(name, [x.name for x in files], packages)
    )
    (folder / "README.txt").write_text(readme(name, cpu, files, system))
    (folder / MARK).parent.mkdir()
    (folder / MARK).write_text(licence_of_flare())
    (folder / MARK).with_name("mojo.txt").write_text(licence_of_mojo())


def main() -> int:
    """Reads the options and makes the folder."""
    parser = argparse.ArgumentParser(
        prog="flare-ship",
        description="Creates a folder with a program and all files that it needs.",
        epilog="Options after -- are passed to mojo build.",
    )
    parser.add_argument("program", type=Path, help="the source file with main")
    parser.add_argument(
        "--into",
        type=Path,
        default=Path("ship"),
        metavar="FOLDER",
        help="where to create the folder of the program (%(default)s)",
    )
    parser.add_argument(
        "--target-cpu",
        default=TARGET_CPU,
        metavar="CPU",
        help="the oldest processor that it must run on (%(default)s)",
    )
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    known = parser.parse_args(arguments[:split])
    if not known.program.is_file():
        parser.error(f"{known.program} is no file")
    try:
        folder = ship(
            known.program, known.into, known.target_cpu, arguments[split + 1 :]
        )
    except ShipError as error:
        print(f"flare-ship: {error}", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
