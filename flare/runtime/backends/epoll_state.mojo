"""Defines the state of the epoll backend for all its descriptors."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.buffer_pool import BufferPool
from flare.sys.epoll import EpollEvent
from flare.sys.splice_pipe import SplicePipe

from .epoll_interest import Interest

comptime EVENTS_MAX = 512
"""The most events that are taken from the kernel at once."""


struct EpollBackendState(Movable):
    """The interests in descriptors. Only `EpollBackend` uses it."""

    var epoll: Int32
    """The epoll descriptor."""
    var buffers: BufferPool
    """The pool of receive buffers."""
    var interests: List[Interest]
    """One entry per descriptor number."""
    var retry: List[Int32]
    """Descriptors with an operation that can continue without an event."""
    var events: PointerTo[EpollEvent]
    """The memory for the kernel's events."""

    var pipe: SplicePipe
    """Takes sealed pages and files to sockets."""

    def __init__(out self, epoll: Int32, buffers: BufferPool):
        """Creates the state without descriptors.

        Args:
            epoll: The epoll descriptor.
            buffers: The pool of receive buffers.
        """
        self.epoll = epoll
        self.buffers = buffers
        self.interests = List[Interest]()
        self.retry = List[Int32](capacity=EVENTS_MAX)
        self.events = heap_create(_EventArray()).unsafe_bitcast[EpollEvent]()
        self.pipe = SplicePipe.create()

    def __deinit__(deinit self):
        """Frees the memory of the events, and the pipe."""
        self.pipe.destroy()
        heap_destroy(self.events.unsafe_bitcast[_EventArray]())


struct _EventArray(Movable):
    var events: Array[EpollEvent, EVENTS_MAX]

    def __init__(out self):
        self.events = Array[EpollEvent, EVENTS_MAX](fill=EpollEvent(0, 0))
