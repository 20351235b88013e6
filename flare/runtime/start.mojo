"""Selects a backend and creates a reactor on it."""

from .backend import BackendKind
from .backends.epoll import EpollBackend
from .backends.uring import UringBackend
from .buffer_pool import BufferPool
from .reactor import RECEIVE_BUFFER_OCTETS, Reactor, ReactorConfig


def open_reactor(config: ReactorConfig) -> Tuple[Int, Optional[Reactor]]:
    """Creates a reactor on the backend of a configuration.

    Args:
        config: The backend and limits; `AUTOMATIC` tries io_uring, then epoll.

    Returns:
        The reactor, and 0 or the negated errno that prevented io_uring; `None`
        and a negated errno on failure.
    """
    var buffers = BufferPool.create(
        RECEIVE_BUFFER_OCTETS, config.receive_buffers_max
    )
    var problem = -38
    if config.backend != BackendKind.EPOLL:
        var opened = UringBackend.open(buffers)
        if opened[1]:
            return _listening(
                Reactor.over(
                    opened[1].value(), BackendKind.IO_URING, config, buffers
                ),
                0,
            )
        problem = opened[0]
    if config.backend != BackendKind.IO_URING:
        var opened = EpollBackend.open(buffers)
        if opened[1]:
            return _listening(
                Reactor.over(
                    opened[1].value(), BackendKind.EPOLL, config, buffers
                ),
                0 if config.backend == BackendKind.EPOLL else problem,
            )
        problem = opened[0]
    buffers.destroy()
    return (problem, None)


def _listening(
    reactor: Reactor, passed_over: Int
) -> Tuple[Int, Optional[Reactor]]:
    var problem = reactor.state[].mailbox.listen(reactor)
    if problem < 0:
        # Threads that do its work could never tell it that they have.
        reactor.destroy()
        return (problem, None)
    return (passed_over, reactor)
