"""Finds the fiber on which a waiting call runs.

A thread without a loop gets a private one at its first wait; it is freed when
the thread ends. On a thread that runs a loop, only fibers may wait.
"""

from flare.core import PointerTo
from flare.sys.thread_cell import set_thread_recycler, thread_word

from .fiber import Fiber
from .private_loop import begin_private_loop
from .reactor import Reactor, ReactorConfig, ReactorState


def current_reactor() -> Optional[Reactor]:
    """Returns the loop of the calling thread.

    Returns:
        The reactor; `None` if the thread has none yet.
    """
    var word = thread_word()[]
    if word == 0:
        return None
    return Reactor(PointerTo[ReactorState](unsafe_from_address=word))


def set_current_reactor(reactor: Optional[Reactor]):
    """Sets the loop of the calling thread.

    Args:
        reactor: The reactor; `None` when the thread leaves its loop.
    """
    thread_word()[] = Int(reactor.value().state) if reactor else 0
    if reactor:
        set_thread_recycler(reactor.value().state[].recycler)
    else:
        set_thread_recycler(None)


@always_inline
def current_fiber() -> Optional[Fiber]:
    """Returns the fiber that runs on the calling thread.

    A thread without a loop gets a private one, on the backend that the kernel
    allows.

    Returns:
        The fiber; with a private loop, the thread's main context. `None`
        inside a loop but outside a fiber, where waiting is refused, or if no
        loop can be created.
    """
    var word = thread_word()[]
    if word == 0:
        return begin_private_loop(ReactorConfig())[1]
    return PointerTo[ReactorState](unsafe_from_address=word)[].fibers.current()
