"""Measures what fibers cost: switching, starting, yielding, waking, blocking.
"""

from std.time import perf_counter_ns

from measure import BATCHES, Case, measure

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime import (
    Event,
    JoinHandle,
    Scheduler,
    blocking,
    current_fiber,
    sleep,
    spawn,
)
from flare.sys.fiber_switch import (
    StackContext,
    emit_switch,
    prepare_stack,
    resume_stack,
    suspend_stack,
)
from flare.sys.memory import PAGE_OCTETS, map_private, unmap

comptime SPAWNS = 20_000
comptime FIBERS = 1_000
comptime YIELDS = 200
comptime JOBS = 2_000
comptime TURNS = 10_000


def spawn_and_join() raises -> Float64:
    """Starts fibers that return at once and joins each of them.

    Returns:
        Nanoseconds per fiber.

    Raises:
        Error: If a fiber cannot start.
    """

    def body() raises {} -> Int:
        return 1

    var began = perf_counter_ns()
    for _ in range(SPAWNS):
        _ = spawn(body).join()
    return Float64(perf_counter_ns() - began) / SPAWNS


def spawn_many_and_join() raises -> Float64:
    """Starts a thousand fibers that run in the same turn and joins them.

    Returns:
        Nanoseconds per fiber.

    Raises:
        Error: If a fiber cannot start.
    """

    def body() raises {} -> Int:
        return 1

    var began = perf_counter_ns()
    var handles = List[JoinHandle[Int]](capacity=FIBERS)
    for _ in range(FIBERS):
        handles.append(spawn(body))
    while len(handles) > 0:
        _ = handles.pop().join()
    return Float64(perf_counter_ns() - began) / FIBERS


def yield_among_a_thousand() raises -> Float64:
    """Lets a thousand fibers yield to one another.

    Returns:
        Nanoseconds per yield, a turn of the loop per thousand included.

    Raises:
        Error: If a fiber cannot start.
    """

    def body() raises {} -> Int:
        var fiber = current_fiber().value()
        for _ in range(YIELDS):
            fiber.yield_turn()
        return 1

    var handles = List[JoinHandle[Int]](capacity=FIBERS)
    for _ in range(FIBERS):
        handles.append(spawn(body))
    sleep(0)
    var began = perf_counter_ns()
    while len(handles) > 0:
        _ = handles.pop().join()
    return Float64(perf_counter_ns() - began) / (FIBERS * YIELDS)


def block() raises -> Float64:
    """Runs closures that return at once on a helper thread.

    Returns:
        Nanoseconds per closure.

    Raises:
        Error: If no thread can be started.
    """

    def body() raises {} -> Int:
        return 1

    var began = perf_counter_ns()
    for _ in range(JOBS):
        _ = blocking(body)
    return Float64(perf_counter_ns() - began) / JOBS


@fieldwise_init
struct Table(Movable):
    """Holds what two threads wake each other with."""

    var first: Event
    """Wakes worker 0."""
    var second: Event
    """Wakes worker 1."""


def hand_to_and_fro(argument: Erased, index: Int):
    """Wakes the other thread and waits for its answer, again and again.

    Args:
        argument: The table.
        index: 0 or 1.
    """
    var table = argument.unsafe_bitcast[Table]()
    var own = table[].first if index == 0 else table[].second
    var other = table[].second if index == 0 else table[].first
    try:
        for _ in range(TURNS):
            if index == 0:
                other.set()
            own.wait()
            own.clear()
            if index == 1:
                other.set()
    except e:
        print(e)


def wake_across_threads() raises -> Float64:
    """Hands a turn between two threads.

    Returns:
        Nanoseconds per wake.

    Raises:
        Error: If no thread or descriptor can be had.
    """
    var table = heap_create(Table(Event(), Event()))
    var began = perf_counter_ns()
    Scheduler.start(2, True, hand_to_and_fro, table.unsafe_bitcast[NoneType]())
    var took = perf_counter_ns() - began
    heap_destroy(table)
    return Float64(took) / (2 * TURNS)


def repeat(name: StaticString, once: def() raises thin -> Float64) raises:
    """Repeats a measurement and prints its line.

    Args:
        name: The case.
        once: Gives nanoseconds per operation.

    Raises:
        Error: What the measurement raised.
    """
    var result = Case(String("fibers/", name))
    for _ in range(BATCHES):
        result.batches.append(once())
    result.report()


def suspend_for_ever(context: Int) abi("C"):
    """Suspends whenever it is resumed.

    Args:
        context: The address of the stack's `StackContext`.
    """
    while True:
        suspend_stack(PointerTo[StackContext](unsafe_from_address=context))


def measure_switch() raises:
    """Prints the line of resuming a stack that suspends again.

    Raises:
        Error: If no stack can be mapped.
    """
    comptime OCTETS = 16 * PAGE_OCTETS
    var base = map_private(OCTETS)
    if base <= 0:
        raise Error("no memory for a stack")
    emit_switch()
    var context = heap_create(StackContext(base, OCTETS, 0))
    prepare_stack(context, suspend_for_ever)

    def switch(i: Int) raises {imm} -> Int:
        resume_stack(context)
        return 0

    measure("fibers/switch to a stack and back", switch)
    _ = unmap(base, OCTETS)
    heap_destroy(context)


def main() raises:
    """Runs the measurements.

    Raises:
        Error: If one of them cannot run.
    """
    measure_switch()
    repeat("spawn and join, one turn each", spawn_and_join)
    repeat("spawn and join, in one turn", spawn_many_and_join)
    repeat("yield among 1,000 fibers", yield_among_a_thousand)
    repeat("blocking, an empty closure", block)
    repeat("Event, a wake across threads", wake_across_threads)
