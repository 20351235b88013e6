"""Starts threads, pins them, and lets them wait for one another."""

from std.ffi import c_int, c_uint, external_call

from flare.core import Erased, PointerTo, heap_create, heap_destroy

from .clock import unix_ms
from .file import result_or_errno

comptime ThreadFunction = def(Erased) abi("C") thin -> Optional[Erased]
"""The function a thread begins with."""


def start_thread(
    function: ThreadFunction, argument: Erased
) -> Tuple[Int, UInt64]:
    """Starts a thread.

    Args:
        function: The function to run.
        argument: Its argument; on the heap.

    Returns:
        0 and the thread's id, or the negated errno and 0.
    """
    var id = UInt64(0)
    var done = external_call["pthread_create", c_int](
        Pointer(to=id), Optional[Erased](None), function, argument
    )
    # A thread that was not started may have left an id.
    return (-Int(done), id if done == 0 else UInt64(0))


def join_thread(id: UInt64):
    """Waits for the end of a thread.

    Args:
        id: The result of `start_thread`.
    """
    _ = external_call["pthread_join", c_int](id, Optional[Erased](None))


def join_thread_within(id: UInt64, duration_ms: Int) -> Bool:
    """Waits for the end of a thread for a limited time.

    Args:
        id: The result of `start_thread`.
        duration_ms: The longest wait.

    Returns:
        False if the thread is still running: it is detached, and the memory it
        uses must not be freed.
    """
    var until = _wall_clock_after(duration_ms)
    var done = external_call["pthread_timedjoin_np", c_int](
        id, Optional[Erased](None), until.unsafe_ptr()
    )
    if done != 0:
        _ = external_call["pthread_detach", c_int](id)
    return done == 0


def _wall_clock_after(duration_ms: Int) -> Array[Int, 2]:
    # A `struct timespec`. pthread conditions count by the wall clock unless told
    # otherwise; a clock that jumps makes the wait shorter or longer, once.
    var until = Array[Int, 2](fill=0)
    var then_ms = unix_ms() + duration_ms
    until[0] = then_ms // 1000
    until[1] = then_ms % 1000 * 1_000_000
    return until^


struct _LockState(Movable):
    # pthread_mutex_t (40 octets) and pthread_cond_t (48), both ready when zero.
    var mutex: Array[UInt64, 5]
    var condition: Array[UInt64, 6]

    def __init__(out self):
        self.mutex = Array[UInt64, 5](fill=0)
        self.condition = Array[UInt64, 6](fill=0)


@fieldwise_init
struct Lock(TrivialRegisterPassable):
    """Excludes other threads, and lets them sleep until they are woken."""

    var _state: PointerTo[_LockState]

    @staticmethod
    def create() -> Self:
        """Creates a free lock.

        Returns:
            A handle. Call `destroy` when no thread uses it any more.
        """
        return Self(heap_create(_LockState()))

    def destroy(self):
        """Frees the lock."""
        heap_destroy(self._state)

    def acquire(self):
        """Waits until no other thread holds the lock, then holds it."""
        _ = external_call["pthread_mutex_lock", c_int](
            Pointer(to=self._state[].mutex)
        )

    def release(self):
        """Releases the lock."""
        _ = external_call["pthread_mutex_unlock", c_int](
            Pointer(to=self._state[].mutex)
        )

    def __enter__(self):
        """Holds the lock for a `with` block."""
        self.acquire()

    def __exit__(self):
        """Releases the lock at the end of a `with` block."""
        self.release()

    def wait(self):
        """Releases the lock, sleeps until woken, and holds it again."""
        _ = external_call["pthread_cond_wait", c_int](
            Pointer(to=self._state[].condition),
            Pointer(to=self._state[].mutex),
        )

    def wait_for(self, duration_ms: Int):
        """Releases the lock, sleeps until woken or until a time is over.

        Args:
            duration_ms: The longest sleep.
        """
        var until = _wall_clock_after(duration_ms)
        _ = external_call["pthread_cond_timedwait", c_int](
            Pointer(to=self._state[].condition),
            Pointer(to=self._state[].mutex),
            until.unsafe_ptr(),
        )

    def wake_one(self):
        """Wakes one thread that sleeps in `wait`."""
        _ = external_call["pthread_cond_signal", c_int](
            Pointer(to=self._state[].condition)
        )

    def wake_all(self):
        """Wakes every thread that sleeps in `wait`."""
        _ = external_call["pthread_cond_broadcast", c_int](
            Pointer(to=self._state[].condition)
        )


def allowed_cpus() -> List[Int]:
    """Returns the CPUs that the calling thread may run on.

    Returns:
        Their numbers in rising order; never empty.
    """
    var mask = Array[UInt64, 16](fill=0)
    var octets = result_or_errno(
        Int(
            external_call["sched_getaffinity", c_int](
                c_int(0), Int(128), mask.unsafe_ptr()
            )
        )
    )
    var cpus = List[Int]()
    if octets >= 0:
        for cpu in range(1024):
            if (mask[cpu >> 6] >> UInt64(cpu & 63)) & 1 == 1:
                cpus.append(cpu)
    if len(cpus) == 0:
        cpus.append(0)
    return cpus^


def pin_to_cpu(cpu: Int) -> Int:
    """Keeps the calling thread on one CPU.

    Args:
        cpu: The CPU's number, below 1024.

    Returns:
        0, or the negated errno.
    """
    var mask = Array[UInt64, 16](fill=0)
    mask[cpu >> 6] |= UInt64(1) << UInt64(cpu & 63)
    return result_or_errno(
        Int(
            external_call["sched_setaffinity", c_int](
                c_int(0), Int(128), mask.unsafe_ptr()
            )
        )
    )


def set_affinity(cpus: List[Int]) -> Int:
    """Restricts the calling thread to the given CPUs.

    Args:
        cpus: Their numbers, below 1024.

    Returns:
        0, or the negated errno.
    """
    var mask = Array[UInt64, 16](fill=0)
    for cpu in cpus:
        mask[cpu >> 6] |= UInt64(1) << UInt64(cpu & 63)
    return result_or_errno(
        Int(
            external_call["sched_setaffinity", c_int](
                c_int(0), Int(128), mask.unsafe_ptr()
            )
        )
    )


struct ThreadExit:
    """Runs a function when a thread that asked for it ends."""

    @staticmethod
    def open(function: ThreadExitFunction) -> Int:
        """Creates a key whose value is passed to a function at thread exit.

        Args:
            function: Called with the thread's value.

        Returns:
            The key, or the negated errno.
        """
        var key = c_uint(0)
        var done = external_call["pthread_key_create", c_int](
            Pointer(to=key), function
        )
        return -Int(done) if done != 0 else Int(key)

    @staticmethod
    def set(key: Int, value: Int) -> Int:
        """Sets the value that the calling thread passes to the function when
        it ends.

        Args:
            key: The result of `open`.
            value: The value; 0 causes no call.

        Returns:
            0, or the negated errno.
        """
        return -Int(
            external_call["pthread_setspecific", c_int](c_uint(key), value)
        )

    @staticmethod
    def get(key: Int) -> Int:
        """Returns the value that the calling thread passes to the function
        when it ends.

        Args:
            key: The result of `open`.

        Returns:
            The value; 0 by default.
        """
        return external_call["pthread_getspecific", Int](c_uint(key))


comptime ThreadExitFunction = def(Int) abi("C") thin -> None
"""The function called with a thread's value when the thread ends."""
