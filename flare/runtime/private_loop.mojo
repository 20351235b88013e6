"""Creates a private loop for a thread that has none.

The thread's main context takes the form of a fiber that "parks" by turning the
loop.
"""

from std.ffi import _Global

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.thread import ThreadExit
from flare.sys.thread_cell import thread_may_begin_loop

from .current import current_reactor, set_current_reactor
from .fiber import Fiber, FiberState
from .reactor import Reactor, ReactorConfig, ReactorState
from .start import open_reactor

comptime _EBUSY = -16
comptime _EDEADLK = -35


# One key serves all threads: a process may have 1,024.
comptime _THREAD_EXIT = _Global[
    StorageType=Int, "flare_private_loop_exit", _open_exit_key
]


@no_inline
def begin_private_loop(config: ReactorConfig) -> Tuple[Int, Optional[Fiber]]:
    """Creates a loop for the calling thread, which is freed when the thread
    ends.

    The first wait of a thread calls it. A program calls it earlier to choose
    the backend and the bounds.

    Args:
        config: The bounds.

    Returns:
        0 and the thread's main context; or a negated errno and `None`. The
        errno is EBUSY if the thread has a loop, EDEADLK if it holds a lock
        that others wait for.
    """
    if current_reactor():
        return (_EBUSY, None)
    if not thread_may_begin_loop():
        return (_EDEADLK, None)
    var opened = open_reactor(config)
    if not opened[1]:
        return (opened[0], None)
    var reactor = opened[1].value()
    set_current_reactor(reactor)
    var main = Fiber(heap_create(FiberState(reactor, 0, 0, 0)))
    main.begin_as_main()
    reactor.state[].fibers.set_current(main)
    _set_exit_value(Int(reactor.state))
    return (0, main)


def end_private_loop():
    """Frees the calling thread's private loop. No wait on it may be in
    progress.

    On a thread without a private loop, it has no effect.
    """
    var reactor = current_reactor()
    if not reactor:
        return
    var main = reactor.value().state[].fibers.current()
    if not main or not main.value().state[].is_main:
        return
    _set_exit_value(0)
    _free(reactor.value())


@always_inline
def turns_only_to_wait(reactor: Reactor) -> Bool:
    """Returns whether the caller is the main context of a private loop, whose
    clock stands still between two waits.

    Args:
        reactor: The loop of the calling thread.

    Returns:
        False in a fiber or a handler of a loop that turns all the time.
    """
    var fiber = reactor.state[].fibers.current()
    return Bool(fiber) and fiber.unsafe_value().state[].is_main


def _open_exit_key() -> Int:
    return ThreadExit.open(_on_thread_exit)


def _set_exit_value(value: Int):
    try:
        var key = _THREAD_EXIT.get_or_create_ptr()[]
        if key >= 0:
            _ = ThreadExit.set(key, value)
    except:
        # Without the key the loop lives as long as the process.
        return


def _on_thread_exit(address: Int) abi("C"):
    _free(Reactor(PointerTo[ReactorState](unsafe_from_address=address)))


def _free(reactor: Reactor):
    set_current_reactor(None)
    var main = reactor.state[].fibers.current()
    reactor.destroy()
    if main:
        heap_destroy(main.value().state)
