"""Twice the input costs at most three times as much.

Invariant: for the worst input that is known of every parser, forwarder and
encoder, processor time and peak heap of 2 N octets stay below three times those
of N octets, and the heap below a stated number of octets for each of the input.
"""

from std.sys import argv, exit

from fuzz.cost_meter import (
    HeapBlock,
    begin_peak,
    give_block,
    keep_memory,
    peak_octets,
    processor_ns,
    take_block,
)
from fuzz.cost_row import CostRow
from fuzz.cost_rows_content import content_rows
from fuzz.cost_rows_h1 import h1_rows
from fuzz.cost_rows_h2 import h2_rows
from fuzz.cost_rows_json import json_rows
from fuzz.cost_rows_message import message_rows
from fuzz.cost_rows_network import network_rows
from fuzz.cost_rows_ws import ws_rows
from fuzz.harness import parse_options

comptime _RATIO_MAX = 3
# Below this one no further attempt is needed; between the two, the first of a
# short input may have been slow by chance, and hide what the long one costs.
comptime _CLEAR_RATIO_TWICE = 5
comptime _ATTEMPTS_MAX = 12
comptime _BATCHES = 5
comptime _BATCH_NS = 200_000
comptime _REPETITIONS_MAX = 1000
comptime _LONG_NS = 50_000_000
comptime _ATTEMPTS_NS_MAX = 2_000_000_000
# Rounds of `make fuzz` are as many as its runs are thousands.
comptime _RUNS_OF_A_ROUND = 100_000
# Small blocks, which are there whatever the input.
comptime _HEAP_SLACK = 16 * 1024


@export("KGEN_CompilerRT_AlignedAlloc")
def _take(alignment: Int, size: Int) abi("C") -> HeapBlock:
    return take_block(alignment, size)


@export("KGEN_CompilerRT_AlignedFree")
def _give(block: HeapBlock) abi("C"):
    give_block(block)


@fieldwise_init
struct Cost(Copyable, Movable):
    """Holds what an input has cost."""

    var ns: Int
    """The least processor time of any attempt."""
    var heap: Int
    """The heap held at the peak."""


def main() raises:
    """Measures each row, or the one of `--only-run`.

    The exit code is 0 if the invariant held for all, else 1.

    Raises:
        Error: If the command line is wrong, or an input is refused.
    """
    var arguments = List[String]()
    for i in range(1, len(argv())):
        arguments.append(String(argv()[i]))
    var options = parse_options(arguments)
    keep_memory()
    _check_meter()
    var rows = List[CostRow]()
    rows.extend(h1_rows())
    rows.extend(message_rows())
    rows.extend(content_rows())
    rows.extend(json_rows())
    rows.extend(network_rows())
    rows.extend(h2_rows())
    rows.extend(ws_rows())
    var findings = 0
    for _ in range(max(options.runs // _RUNS_OF_A_ROUND, 1)):
        if findings > 0:
            break
        for i in range(len(rows)):
            if options.only_run >= 0 and i != options.only_run:
                continue
            if not _is_linear(i, rows[i]):
                findings += 1
                print(
                    t"run {i}, seed {options.seed}; repeat:"
                    t" {String(argv()[0])} --only-run {i}"
                )
    print(len(rows), "rows,", findings, "findings")
    if findings > 0:
        exit(1)


def _check_meter() raises:
    begin_peak()
    var block = List[UInt8](length=100_000, fill=1)
    var octets = peak_octets()
    if octets < len(block) or octets > 2 * len(block):
        raise Error("a block of 100,000 octets counts as ", octets)


def _is_linear(index: Int, row: CostRow) -> Bool:
    var short: List[UInt8]
    var long: List[UInt8]
    var once: Cost
    var twice: Cost
    try:
        short = row.make(row.octets)
        long = row.make(2 * row.octets)
        once = Cost(Int.MAX, _heap_of(row, short))
        twice = Cost(Int.MAX, _heap_of(row, long))
        # The least of all attempts, so that what else the machine does does
        # not count; more than a few are needed on a busy one alone.
        var began = processor_ns()
        for _ in range(_ATTEMPTS_MAX):
            once.ns = min(once.ns, _time_of(row, short))
            twice.ns = min(twice.ns, _time_of(row, long))
            if (
                2 * twice.ns < _CLEAR_RATIO_TWICE * once.ns
                or processor_ns() - began > _ATTEMPTS_NS_MAX
            ):
                break
    except e:
        print(t"{index}: {row.name}\nfinding: {e}")
        return False
    var is_quick = twice.ns < _RATIO_MAX * once.ns
    var is_slim = twice.heap < _RATIO_MAX * once.heap + _HEAP_SLACK
    var is_bounded = twice.heap <= row.heap_factor_max * len(long) + _HEAP_SLACK
    print(
        t"{index}: {row.name}: {len(short)} octets: {once.ns} ns,"
        t" {once.heap} of heap; {len(long)} octets: {twice.ns} ns,"
        t" {twice.heap} of heap"
    )
    if not is_quick:
        print("finding: time grows faster than the input")
    if not is_slim:
        print("finding: the heap grows faster than the input")
    if not is_bounded:
        print(
            t"finding: more than {row.heap_factor_max} octets of heap for each"
            t" of the input"
        )
    return is_quick and is_slim and is_bounded


def _heap_of(row: CostRow, input: List[UInt8]) raises -> Int:
    # What is kept for the next time is there from the second time on.
    row.feed(input)
    begin_peak()
    row.feed(input)
    return peak_octets()


def _time_of(row: CostRow, input: List[UInt8]) raises -> Int:
    var began = processor_ns()
    row.feed(input)
    var first = max(processor_ns() - began, 1)
    var repetitions = min(max(_BATCH_NS // first, 1), _REPETITIONS_MAX)
    var least = first
    if first > _LONG_NS:
        return first
    for _ in range(_BATCHES):
        began = processor_ns()
        for _ in range(repetitions):
            row.feed(input)
        least = min(least, (processor_ns() - began) // repetitions)
    return least
