"""Sends sealed pages for both kernels' backends."""

from flare.sys.socket import set_non_blocking
from flare.sys.splice_pipe import SplicePipe
from flare.runtime.operation import Operation


def send_sealed(pipe: SplicePipe, operation: Operation) -> Int:
    """Sends what a `SEND` of sealed pages names, without waiting.

    Args:
        pipe: Takes the pages to the socket; keeps `SIGPIPE` from the thread
            afterwards.
        operation: The operation; its pages are sealed.

    Returns:
        The count that the kernel took, or 0: then an ordinary send does it.
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
