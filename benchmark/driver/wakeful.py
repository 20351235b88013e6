"""Keeps idle cores awake while latencies are measured.

On a virtual machine an idle core is given back to the host. To call it again
takes the load generator, which wakes the server, some ten microseconds in which
it neither sends nor receives, and the server as many: more than an answer
takes. Latencies tell of the host then, and hardly of servers.
"""

from __future__ import annotations

import os
import struct
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

# While it is held open, cores sleep no deeper than allows to wake within the
# microseconds written (Linux, Documentation/power/pm_qos_interface.rst).
REQUEST = Path("/dev/cpu_dma_latency")
DRIVER = Path("/sys/devices/system/cpu/cpuidle/current_driver")
_NO_WAIT = struct.pack("i", 0)


@contextmanager
def wakeful_cores(is_wanted: bool = True) -> Iterator[bool]:
    """Lets idle cores poll while a `with` block runs; gives whether it could.

    It takes root, and a kernel that chooses how its cores idle.
    """
    descriptor = _request() if is_wanted else None
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _request() -> int | None:
    try:
        if DRIVER.read_text().strip() == "none":
            return None
        descriptor = os.open(REQUEST, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        os.write(descriptor, _NO_WAIT)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
