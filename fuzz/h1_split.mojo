"""Cuts an input into windows and compares what came of it."""

from .random import Random


def cuts_of(octets: List[UInt8], mut random: Random) -> List[Int]:
    """Draws where an input is cut.

    Args:
        octets: The input.
        random: Decides how many windows there are.

    Returns:
        Offsets in rising order, perhaps none.
    """
    var cuts = List[Int]()
    var at = 0
    while True:
        at += random.between(1, 1 + len(octets) // 2)
        if at >= len(octets):
            return cuts^
        cuts.append(at)


def require_equal(expected: List[String], got: List[String]) raises:
    """Compares two transcripts.

    Args:
        expected: One.
        got: The other.

    Raises:
        Error: If they differ; it shows the first difference.
    """
    for i in range(max(len(expected), len(got))):
        var left = expected[i] if i < len(expected) else String("nothing")
        var right = got[i] if i < len(got) else String("nothing")
        if left != right:
            raise Error("line ", i, ": expected ", left, ", got ", right)
