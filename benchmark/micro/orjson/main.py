"""Measures orjson on the products of ../bench_json.mojo.

The batches and the line for each case are those of ../measure.mojo. It knows
dictionaries only: a case with structs has the figure of dictionaries.
"""

import statistics
import sys
import time

import orjson

LISTED = 25
BATCHES = 21
BATCH_NS = 1_000_000
WARM_UP_NS = 20_000_000


def run(operation, argument, calls):
    """Times a batch."""
    began = time.perf_counter_ns()
    for _ in range(calls):
        operation(argument)
    return time.perf_counter_ns() - began


def measure(names, octets, operation, argument):
    """Prints the lines of a case that has several names."""
    calls = 1
    spent = 0
    while True:
        took = run(operation, argument, calls)
        spent += took
        if took < BATCH_NS:
            calls *= 2
        elif spent >= WARM_UP_NS:
            break
    figures = [run(operation, argument, calls) / calls for _ in range(BATCHES)]
    best, median = min(figures), statistics.median(figures)
    for name in names:
        rate = round(octets / median * 1e9)
        print(f"json/{name}\t{best:.2f}\t{median:.2f}\t{rate}")


def main():
    """Prints the figures."""
    with open(sys.argv[1], encoding="ascii") as file:
        texts = [line.rstrip(",\n") for line in file if line.startswith("{")]
    cases = {"product": texts[0], "list": f"[{','.join(texts[:LISTED])}]"}
    for name, text in cases.items():
        octets = text.encode()
        value = orjson.loads(octets)
        measure(
            [f"loads {name}", f"decode {name}"],
            len(octets),
            orjson.loads,
            octets,
        )
        measure(
            [f"dumps value {name}", f"dumps struct {name}"],
            len(octets),
            orjson.dumps,
            value,
        )


if __name__ == "__main__":
    main()
