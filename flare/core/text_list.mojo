"""Finds texts in lists that are known when building.

A parser of error texts asks for a dozen words. Inlined, each question would be
a hundred lines of LLVM IR in any program that can fail; here it is one call.
"""

from .octets import equals


def text_at[texts: List[StaticString]](index: Int) -> StaticString:
    """Returns a text of a list.

    Parameters:
        texts: The list.

    Args:
        index: Its index.

    Returns:
        The text; the first one if the index is out of range.
    """
    comptime for i in range(len(texts)):
        if index == i:
            return comptime (texts[i])
    return comptime (texts[0])


@no_inline
def index_of_text[
    texts: List[StaticString]
](octets: Span[UInt8, _]) -> Optional[Int]:
    """Returns the index of a text in a list.

    Parameters:
        texts: The list.

    Args:
        octets: Any octets.

    Returns:
        The index of the first text that equals them; `None` if none does.
    """
    comptime for i in range(len(texts)):
        if _equals_text(octets, comptime (texts[i])):
            return i
    return None


@no_inline
def _equals_text(octets: Span[UInt8, _], text: StaticString) -> Bool:
    return equals(octets, text.as_bytes())
