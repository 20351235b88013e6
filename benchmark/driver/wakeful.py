"""Keeps idle cores awake while latencies are measured.

On a virtual machine an idle core is given back to the host. To call it again
takes the load generator, which wakes the server, some ten microseconds in which
it neither sends nor receives, and the server as many: about what an answer
takes. Latencies tell of the host then as much as of servers.
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
# The state in which a core then idles. Other processors have none that polls.
SHALLOWEST = Path("/sys/devices/system/cpu/cpu0/cpuidle/state0/name")
_NO_WAIT = struct.pack("i", 0)


@contextmanager
def wakeful_cores(is_wanted: bool = True) -> Iterator[bool]:
    """Lets idle cores poll while a `with` block runs; gives whether it could.

    It takes root, and a processor that can idle by polling.
    """
    descriptor = _request() if is_wanted else None
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _request() -> int | None:
    try:
        if SHALLOWEST.read_text().strip() != "POLL":
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
