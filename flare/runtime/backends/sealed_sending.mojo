"""Sends sealed pages for both kernels' backends."""

from flare.sys.socket import set_non_blocking
from flare.sys.splice_pipe import SplicePipe
from flare.runtime.operation import Operation


def send_sealed(pipe: SplicePipe, operation: Operation) -> Int:
    """Sends the sealed pages of a `SEND` operation, without waiting.

    Args:
        pipe: Takes the pages to the socket; keeps `SIGPIPE` from the thread
            afterwards.
        operation: The operation; its pages are sealed.

    Returns:
        The number of octets that the kernel took; 0 if the caller must use an
        ordinary send.
    """
    ref o = operation.state[]
    # A splice waits unless the socket says otherwise. It stays so: switching
    # back is a call, and no receive, send or poll of a backend depends on it.
    if not o.is_non_blocking:
        if pipe.is_useless():
            return 0
        if set_non_blocking(o.descriptor, True) < 0:
            return 0
        o.is_non_blocking = True
    return pipe.send(
        o.descriptor,
        Span(unsafe_ptr=o.address.value(), length=o.length),
        Span(unsafe_ptr=o.second.value(), length=o.second_length),
    )
