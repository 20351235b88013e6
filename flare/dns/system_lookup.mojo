"""Calls the system's resolver on a helper thread, so that no loop waits.

The call cannot be interrupted. A fiber that gives up leaves the state to the
thread, and the last of the two frees it. Both finish on the reactor's thread,
so no lock is needed.
"""

from flare.core import Erased, heap_create, heap_destroy
from flare.net import IpAddr, SocketAddr
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.job_threads import Job, JobThreads
from flare.runtime.operation import CANCELLED
from flare.runtime.wait import waiting_fiber
from flare.sys.name_lookup import (
    LOOKUP_AGAIN,
    LOOKUP_FAILED,
    LOOKUP_NO_DATA,
    LOOKUP_NO_FAMILY,
    LOOKUP_NO_MEMORY,
    LOOKUP_NO_NAME,
    look_up_host,
)
from flare.sys.socket_address import SocketAddressStorage

from .error import DnsError

comptime _OPERATION: StaticString = "resolve"


struct _LookUpState(Movable):
    # Only the helper thread touches the first four until `is_done`.
    var host: List[UInt8]
    var family: Int
    var found: List[SocketAddressStorage]
    var code: Int
    var fiber: Fiber
    var is_done: Bool
    var is_abandoned: Bool

    def __init__(out self, host: StringSlice, family: Int, fiber: Fiber):
        self.host = List[UInt8](host.as_bytes())
        self.host.append(0)
        self.family = family
        self.found = []
        self.code = 0
        self.fiber = fiber
        self.is_done = False
        self.is_abandoned = False


def look_up(
    host: StringSlice, family: Int, timeout_ms: Optional[Int]
) raises -> List[IpAddr]:
    """Looks up a host with the system's resolver.

    Args:
        host: A name that `check_host_name` accepts.
        family: `AF_INET`, `AF_INET6`, or `AF_UNSPEC` for both.
        timeout_ms: The longest wait; `None` applies only the fiber's deadline.

    Returns:
        At least one address, best first, without duplicates.

    Raises:
        Error: The text of a `DnsError`, or `net.…` if the caller may not wait.
    """
    var fiber = waiting_fiber(_OPERATION)
    if fiber.is_cancelled():
        _ = fiber.wait(0)
        raise Error(DnsError(DnsError.CANCELLED, _OPERATION, String(host), 0))
    var state = heap_create(_LookUpState(host, family, fiber))
    var queued = JobThreads.for_names(fiber.reactor()).submit(
        Job(_run, _end, state.unsafe_bitcast[NoneType]())
    )
    if queued < 0:
        heap_destroy(state)
        raise Error(DnsError(DnsError.NO_MEMORY, _OPERATION, String(host), 0))
    var waited = 0
    while waited == 0 and not state[].is_done:
        waited = fiber.wait(timeout_ms.or_else(NO_DEADLINE))
    if not state[].is_done:
        state[].is_abandoned = True
        var kind = (
            DnsError.CANCELLED if waited == CANCELLED else DnsError.TIMEOUT
        )
        raise Error(DnsError(kind, _OPERATION, String(host), 0))
    var code = state[].code
    var addresses = List[IpAddr]()
    for storage in state[].found:
        var address = SocketAddr.from_storage(storage)
        if address and address.value().ip not in addresses:
            addresses.append(address.value().ip)
    heap_destroy(state)
    if code != 0:
        raise Error(DnsError(_kind_of(code), _OPERATION, String(host), code))
    if len(addresses) == 0:
        raise Error(DnsError(DnsError.NO_ADDRESS, _OPERATION, String(host), 0))
    return addresses^


def _run(argument: Erased):
    var state = argument.unsafe_bitcast[_LookUpState]()
    state[].code = look_up_host(
        Span(state[].host), state[].family, state[].found
    )


def _end(argument: Erased):
    var state = argument.unsafe_bitcast[_LookUpState]()
    if state[].is_abandoned:
        heap_destroy(state)
        return
    state[].is_done = True
    state[].fiber.wake()


def _kind_of(code: Int) -> Int:
    if code == LOOKUP_NO_NAME:
        return DnsError.NOT_FOUND
    if code == LOOKUP_NO_DATA or code == LOOKUP_NO_FAMILY:
        return DnsError.NO_ADDRESS
    if code == LOOKUP_AGAIN:
        return DnsError.TRY_AGAIN
    if code == LOOKUP_FAILED:
        return DnsError.SERVER_FAILURE
    if code == LOOKUP_NO_MEMORY:
        return DnsError.NO_MEMORY
    return DnsError.OTHER
