"""Times operations of nanoseconds and prints one line for each case.

A figure is the time of a batch of at least a millisecond, divided by the
operations in it. Of 21 batches the best says what the code costs undisturbed,
the median what it cost here. A line has four columns, separated by tabs: the
case, the best and the median in nanoseconds per operation, and octets per
second at the median, or `-` where no octets are worked on.
"""

from std.benchmark import keep
from std.time import perf_counter_ns

comptime BATCHES = 21
"""How many batches a case has."""
comptime _BATCH_NS = 1_000_000
comptime _WARM_UP_NS = 20_000_000


struct Case(Movable):
    """Gathers the batches of one case."""

    var name: String
    """What the line begins with."""
    var octets: Int
    """The octets that one operation works on, or 0."""
    var batches: List[Float64]
    """Nanoseconds per operation, batch by batch."""

    def __init__(out self, var name: String, octets: Int = 0):
        """Begins a case.

        Args:
            name: What the line begins with.
            octets: The octets that one operation works on, or 0.
        """
        self.name = name^
        self.octets = octets
        self.batches = List[Float64](capacity=BATCHES)

    def add(mut self, took_ns: Int, operations: Int):
        """Adds a batch.

        Args:
            took_ns: How long it took.
            operations: How many operations it had.
        """
        self.batches.append(Float64(took_ns) / Float64(operations))

    def report(mut self):
        """Prints the line."""
        sort(self.batches)
        var best = self.batches[0]
        var median = self.batches[len(self.batches) // 2]
        var rate = String("-")
        if self.octets > 0:
            rate = String(Int(Float64(self.octets) / median * 1e9))
        print(
            self.name,
            round(best, 2),
            round(median, 2),
            rate,
            sep="\t",
        )


def measure[
    F: def(Int) raises -> Int
](
    var name: String, operation: F, *, octets: Int = 0, operations: Int = 1
) raises:
    """Times calls of a function and prints the line of the case.

    What the function returns counts as used. What it works on has to come
    from memory or through `black_box`.

    Parameters:
        F: The type of the function.

    Args:
        name: The case.
        operation: Called with 0, 1, 2 and so on, so that it can vary.
        octets: The octets that one operation works on, or 0.
        operations: How many operations one call stands for.

    Raises:
        Error: What the function raises.
    """
    var calls = 1
    var spent = 0
    while True:
        var took = _batch(operation, calls)
        spent += took
        if took < _BATCH_NS:
            calls *= 2
        elif spent >= _WARM_UP_NS:
            break
    var result = Case(name^, octets)
    for _ in range(BATCHES):
        result.add(_batch(operation, calls), calls * operations)
    result.report()


@no_inline
def _batch[F: def(Int) raises -> Int](operation: F, calls: Int) raises -> Int:
    var began = perf_counter_ns()
    for i in range(calls):
        keep(operation(i))
    return Int(perf_counter_ns() - began)
