"""Shares one value between all workers of the process, under a lock."""

from std.atomic import Atomic, Ordering
from std.memory import ArcPointer

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.current import current_fiber, current_reactor
from flare.runtime.fiber import Fiber
from flare.sys.thread import Lock
from flare.sys.thread_cell import (
    set_thread_may_begin_loop,
    thread_may_begin_loop,
    thread_word,
)


struct _SharedState[T: Deinitable & Movable](Movable):
    var lock: Lock
    # The cell of the thread that holds the lock, or 0; written under the lock.
    var holder: PointerTo[UInt64]
    var value: Self.T

    def __init__(out self, var value: Self.T):
        self.lock = Lock.create()
        self.holder = heap_create(UInt64(0))
        self.value = value^

    def __deinit__(deinit self):
        self.lock.destroy()
        heap_destroy(self.holder)


struct Shared[T: Deinitable & Movable](ImplicitlyCopyable):
    """A reference to one value for the whole process. Copies refer to the same
    value.

    Parameters:
        T: The type of the value.
    """

    var _state: ArcPointer[_SharedState[Self.T]]

    def __init__(out self, var value: Self.T):
        """Takes ownership of the value.

        Args:
            value: The value.
        """
        self._state = ArcPointer(_SharedState(value^))

    def update[
        R: Deinitable & Movable, //, F: def(mut Self.T) raises -> R
    ](self, f: F) raises -> R:
        """Calls a function with the value, under the lock.

        Keep the function short. A wait inside it raises, because it would block
        whole workers.

        Parameters:
            R: The type of the result.
            F: The type of the function.

        Args:
            f: The function that reads and changes the value.

        Returns:
            The result of the function.

        Raises:
            An error `http.shared_again` if the function updates the same value
            again, and the error of the function.
        """
        var state = self._state
        var outside = _acquire(state)
        try:
            return f(state[].value)
        finally:
            _release(state, outside)

    def update[F: def(mut Self.T) raises -> None](self, f: F) raises:
        """Calls a function without a result with the value, under the lock.

        Parameters:
            F: The type of the function.

        Args:
            f: The function that reads and changes the value.

        Raises:
            The errors of the other form of `update`.
        """
        var state = self._state
        var outside = _acquire(state)
        try:
            f(state[].value)
        finally:
            _release(state, outside)

    def update[
        R: Deinitable & Movable, //
    ](self, function: def(mut Self.T) raises thin -> R) raises -> R:
        """Calls a function without captures with the value, under the lock.

        Parameters:
            R: The type of the result.

        Args:
            function: The function that reads and changes the value.

        Returns:
            The result of the function.

        Raises:
            The errors of the other form of `update`.
        """
        var state = self._state
        var outside = _acquire(state)
        try:
            return function(state[].value)
        finally:
            _release(state, outside)


@fieldwise_init
struct _Outside(ImplicitlyCopyable):
    # The permission to wait that the thread has again after an update.
    var fiber: Optional[Fiber]
    var may_begin_loop: Bool


def _acquire[
    T: Deinitable & Movable
](state: ArcPointer[_SharedState[T]]) raises -> _Outside:
    var word = UInt64(Int(thread_word()))
    if _load(state[].holder) == word:
        raise Error("http.shared_again the value is being updated already")
    var outside = _Outside(None, thread_may_begin_loop())
    if current_reactor():
        outside.fiber = current_fiber()
        _set_current(None)
    else:
        set_thread_may_begin_loop(False)
    state[].lock.acquire()
    _store(state[].holder, word)
    return outside


def _release[
    T: Deinitable & Movable
](state: ArcPointer[_SharedState[T]], outside: _Outside):
    _store(state[].holder, 0)
    state[].lock.release()
    set_thread_may_begin_loop(outside.may_begin_loop)
    if outside.fiber:
        _set_current(outside.fiber)


def _set_current(fiber: Optional[Fiber]):
    var reactor = current_reactor()
    if reactor:
        reactor.value().state[].fibers.set_current(fiber)


@always_inline
def _load(word: PointerTo[UInt64]) -> UInt64:
    return Atomic[UInt64].load[ordering=Ordering.RELAXED](word)


@always_inline
def _store(word: PointerTo[UInt64], value: UInt64):
    Atomic[UInt64].store[ordering=Ordering.RELAXED](word, value)
