"""Reads how much of the machine a process uses (proc(5))."""

from .file import close_descriptor
from .folder import FileStatus, open_file_in, read_at, status_of_path

# Below it, a name belongs to the working folder; absolute paths ignore it.
comptime _ANY_FOLDER: Int32 = -100
comptime _PAGE_OCTETS = 4096
# The kernel shows times in this unit on all architectures (USER_HZ).
comptime _MS_PER_TICK = 10
# The places of utime, stime and rss among the fields after the name, which
# may contain blanks.
comptime _USER_TICKS = 11
comptime _SYSTEM_TICKS = 12
comptime _RESIDENT_PAGES = 21
comptime _TEXT_OCTETS = 1024


@fieldwise_init
struct ProcessUsage(ImplicitlyCopyable):
    """The use of CPU, memory and descriptors by a process."""

    var cpu_ms: Int
    """The CPU time of its threads since its start."""
    var resident_octets: Int
    """Its resident memory."""
    var descriptors: Int
    """Its open descriptors; -1 before Linux 6.2."""


def process_usage(process: Int) -> Optional[ProcessUsage]:
    """Reads the use of CPU, memory and descriptors by a process.

    Args:
        process: Its id.

    Returns:
        The numbers; `None` if there is no such process.
    """
    var text = List[UInt8](length=_TEXT_OCTETS, fill=0)
    var path = String("/proc/", process, "/stat\0")
    var opened = open_file_in(_ANY_FOLDER, path.as_bytes())
    if opened < 0:
        return None
    var count = read_at(Int32(opened), Span(text), 0)
    _ = close_descriptor(Int32(opened))
    var numbers = parse_process_numbers(Span(text)[: max(count, 0)])
    if len(numbers) <= _RESIDENT_PAGES:
        return None
    var status = FileStatus()
    path = String("/proc/", process, "/fd\0")
    var found = status_of_path(path.as_bytes(), status)
    return ProcessUsage(
        (numbers[_USER_TICKS] + numbers[_SYSTEM_TICKS]) * _MS_PER_TICK,
        numbers[_RESIDENT_PAGES] * _PAGE_OCTETS,
        status.octets if found == 0 and status.octets > 0 else -1,
    )


def parse_process_numbers(text: Span[UInt8, _]) -> List[Int]:
    """Returns the fields of `/proc/PID/stat` after the name.

    Args:
        text: The content of the file.

    Returns:
        The numbers, with 0 for the state, which is a letter; empty if there is
        no name.
    """
    var numbers = List[Int]()
    var at = len(text)
    while at > 0 and text[at - 1] != UInt8(ord(")")):
        at -= 1
    if at == 0:
        return numbers^
    var number = 0
    var has_field = False
    for i in range(at, len(text)):
        var octet = text[i]
        if octet == UInt8(ord(" ")) or octet == UInt8(ord("\n")):
            if has_field:
                numbers.append(number)
            number = 0
            has_field = False
            continue
        has_field = True
        var digit = Int(octet) - ord("0")
        if 0 <= digit <= 9 and number < 1 << 58:
            number = 10 * number + digit
    return numbers^
