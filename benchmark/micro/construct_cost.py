"""Measures what constructs of the language cost to build.

A program of many functions that hold a construct is built, and so is one whose
functions hold none: the difference of their user CPU, divided by the number of
uses, is what one more use costs in any program.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from build_cost import user_seconds

FUNCTIONS = 200
OUT_OF_LINE = """
from std.os import abort


@no_inline
def stop(index: Int, length: Int):
    abort(String("index ", index, " of ", length))


@always_inline
def at(l: List[Int], index: Int) -> Int:
    if UInt(index) >= UInt(len(l)):
        stop(index, len(l))
    return l.unsafe_get(index)


@no_inline
def too_many(i: Int, n: Int) -> Error:
    return Error("too many: ", i, " not ", n)

"""


@dataclass(frozen=True)
class Construct:
    """Holds the body of a function, and how often it uses the construct."""

    name: str
    uses: int
    body: str


NOTHING = Construct("nothing", 1, "return i + K")
CONSTRUCTS = (
    Construct("a field through a pointer", 5, "return " + "+ p[].a " * 5),
    Construct("`list[i]`", 5, "return " + "+ l[i + K] " * 5),
    Construct(
        "`list.unsafe_get(i)`", 5, "return " + "+ l.unsafe_get(i + K) " * 5
    ),
    Construct(
        "the same behind a check that calls a function",
        5,
        "return " + "+ at(l, i + K) " * 5,
    ),
    Construct("`span[i]`", 5, "return Int(" + "+ s[i + K] " * 5 + ")"),
    Construct("`span[i:k]`", 2, "return len(s[i:]) + len(s[1 : i + K])"),
    Construct(
        "`span.unsafe_subspan(...)`",
        2,
        "return len(s.unsafe_subspan(offset=i, length=2)) + len("
        "s.unsafe_subspan(offset=i, length=K))",
    ),
    Construct(
        "an `Optional[Int]` made, asked and read",
        1,
        "var o = Optional[Int](i) if i > K else Optional[Int](None)\n"
        "    return o.value() if o else 2",
    ),
    Construct(
        "`raise Error(text, i, text, n)`",
        1,
        'if i > 100 + K:\n        raise Error("many: ", i, " not ", len(l))\n'
        "    return i",
    ),
    Construct(
        "`raise` of what a function made",
        1,
        "if i > 100 + K:\n        raise too_many(i, len(l))\n    return i",
    ),
    Construct(
        "`String(text, i, text)`",
        1,
        'return String("a", i, "b").byte_length() + K',
    ),
)


def program(construct: Construct) -> str:
    """Writes the program of a construct."""
    parts = [
        "from std.memory import Pointer",
        OUT_OF_LINE,
        "@fieldwise_init\nstruct Pair(Movable):\n    var a: Int\n    var b: Int\n",
    ]
    for k in range(FUNCTIONS):
        body = construct.body.replace("K", str(k))
        parts.append(
            f"@no_inline\ndef f{k}(l: List[Int], s: Span[UInt8, _],"
            f" p: Pointer[Pair, _], i: Int) raises -> Int:\n    {body}\n"
        )
    parts.append(
        "def main() raises:\n    var l = List[Int](length=300, fill=3)\n"
        '    var text = String("hello ") * 50\n    var pair = Pair(1, 2)\n'
        "    var total = 0"
    )
    for k in range(FUNCTIONS):
        parts.append(
            f"    total += f{k}(l, text.as_bytes(), Pointer(to=pair), 3)"
        )
    return "\n".join([*parts, "    print(total)\n"])


def milliseconds(construct: Construct) -> float:
    """Builds the program of a construct, and gives all of its user CPU."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.mojo"
        source.write_text(program(construct))
        return user_seconds(source, []) * 1000
