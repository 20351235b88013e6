"""Counts the heap blocks that a server holds, from outside."""

import mmap
import pathlib
import struct
import subprocess
import tempfile

from common import ROOT

SOURCE = ROOT / "tests" / "python" / "count_allocations.c"
PAGE_OCTETS = 4096


class HeapBlocks:
    """Counts what a server takes and gives back; a `with` block ends it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        library = pathlib.Path(self.folder.name, "count.so")
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"],
            check=True,
        )
        counters = pathlib.Path(self.folder.name, "counters")
        counters.write_bytes(bytes(PAGE_OCTETS))
        with open(counters, "r+b") as file:
            self.counters = mmap.mmap(file.fileno(), PAGE_OCTETS)
        self.environment = {
            "LD_PRELOAD": str(library), "FLARE_COUNTERS": str(counters),
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.counters.close()
        self.folder.cleanup()

    def held(self):
        """Gives how many blocks there are now."""
        mojo, libc, mojo_freed, libc_freed = struct.unpack(
            "<4q", self.counters[:32]
        )
        if not mojo or not mojo_freed:
            raise RuntimeError("Mojo's allocations are not counted")
        return mojo + libc - mojo_freed - libc_freed
