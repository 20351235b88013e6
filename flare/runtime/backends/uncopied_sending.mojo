"""Sends sealed pages and files without a copy, for both kernels' backends."""

from flare.runtime.operation import CANCELLED, Operation
from flare.sys.errno import EINTR
from flare.sys.socket import set_non_blocking
from flare.sys.splice_pipe import SplicePipe

# A call that ends earlier also ends a packet earlier. A peer that reads all the
# while holds up the others for no longer than this takes.
comptime _FILE_OCTETS_MAX = 2 * 1024 * 1024


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
    if not o.uncopied.is_non_blocking and pipe.is_useless():
        return 0
    if not _make_non_blocking(operation):
        return 0
    return pipe.send(
        o.descriptor,
        Span(unsafe_ptr=o.address.value(), length=o.length),
        Span(unsafe_ptr=o.second.value(), length=o.second_length),
    )


def send_file(pipe: SplicePipe, operation: Operation) -> Int:
    """Sends octets of the file of a `SEND` operation, without waiting for room.

    Args:
        pipe: Keeps `SIGPIPE` from the thread afterwards.
        operation: The operation.

    Returns:
        The result of the operation; `-EAGAIN` if there is no room.
    """
    ref o = operation.state[]
    if o.uncopied.file.descriptor < 0 or o.cancel_requested:
        return CANCELLED
    if not _make_non_blocking(operation):
        return CANCELLED
    while True:
        var result = pipe.send_file(
            o.descriptor,
            Span(unsafe_ptr=o.address.value(), length=o.length),
            o.uncopied.file.descriptor,
            o.uncopied.file.start,
            min(o.uncopied.file.octets, _FILE_OCTETS_MAX),
        )
        if result != -EINTR:
            return result


def _make_non_blocking(operation: Operation) -> Bool:
    # A splice waits unless the socket says otherwise. It stays so: switching
    # back is a call, and no receive, send or poll of a backend depends on it.
    ref o = operation.state[]
    if not o.uncopied.is_non_blocking:
        o.uncopied.is_non_blocking = set_non_blocking(o.descriptor, True) == 0
    return o.uncopied.is_non_blocking
