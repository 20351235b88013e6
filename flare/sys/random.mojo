"""Returns unpredictable octets (getrandom(2))."""

from std.ffi import c_uint, external_call

from .file import result_or_errno


def fill_random(into: Span[mut=True, UInt8, _]) -> Int:
    """Fills a buffer from the kernel's generator.

    Args:
        into: At most 256 octets: the kernel returns them completely even if a
            signal arrives.

    Returns:
        The count, or the negated errno.
    """
    debug_assert(len(into) <= 256, "fill_random of ", len(into))
    return result_or_errno(
        external_call["getrandom", Int](into.unsafe_ptr(), len(into), c_uint(0))
    )
