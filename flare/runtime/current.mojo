"""Finds the fiber that a blocking-looking call runs on.

A thread without a loop gets a private one at its first wait, freed when the
thread ends. On a thread that runs a loop, only fibers may wait.
"""

from flare.core import PointerTo
from flare.sys.thread_cell import set_thread_recycler, thread_word

from .fiber import Fiber
from .private_loop import begin_private_loop
from .reactor import Reactor, ReactorConfig, ReactorState


def current_reactor() -> Optional[Reactor]:
    """Finds the loop of the calling thread.

    Returns:
        The reactor, or none if the thread has none yet.
    """
    var word = thread_word()[]
    if word == 0:
        return None
    return Reactor(PointerTo[ReactorState](unsafe_from_address=word))


def set_current_reactor(reactor: Optional[Reactor]):
    """Says which loop the calling thread runs.

    Args:
        reactor: The reactor, or none when the thread leaves its loop.
    """
    thread_word()[] = Int(reactor.value().state) if reactor else 0
    if reactor:
        set_thread_recycler(reactor.value().state[].recycler)
    else:
        set_thread_recycler(None)


@always_inline
def current_fiber() -> Optional[Fiber]:
    """Finds the fiber that runs on the calling thread.

    A thread without a loop gets a private one here, on the backend that the
    kernel allows.

    Returns:
        The fiber, or the thread's main context where the loop is private; none
        inside a loop but outside a fiber, where waiting is refused, or if no
        loop could be made.
    """
    var word = thread_word()[]
    if word == 0:
        return begin_private_loop(ReactorConfig())[1]
    return PointerTo[ReactorState](unsafe_from_address=word)[].fibers.current()
