"""Divides the content of a form into parts (RFC 7578, RFC 2046 section 5.1).

The owner keeps the received octets, and passes those not yet consumed as the
`window`. A line that starts with the boundary ends a part, and must contain no
other octets. A boundary inside the content of a part is refused, so that no
two recipients divide a form differently.
"""

from flare.core import CR, LF, SPACE, TAB, equals, find_octet

from .boundary import BOUNDARY_OCTETS_MAX
from .error import MultipartError
from .event import MultipartEvent
from .part import MultipartPart, read_part_head

comptime _MINUS: UInt8 = 45
comptime _PADDING_MAX = 64
# The longest run of blanks after a boundary.


@fieldwise_init
struct MultipartLimits(ImplicitlyCopyable):
    """Limits for a form that is read. The limit of the content bounds the
    length of the form.
    """

    var parts_max: Int
    """The most parts."""
    var part_head_octets_max: Int
    """The longest head of a part."""
    var part_head_lines_max: Int
    """The most lines of such a head."""
    var preamble_octets_max: Int
    """The most octets before the first boundary; they are dropped."""

    def __init__(out self):
        """Creates limits of 1,000 parts, 8 KiB and 16 lines for each head, and
        1 KiB before the first part.
        """
        self.parts_max = 1000
        self.part_head_octets_max = 8192
        self.part_head_lines_max = 16
        self.preamble_octets_max = 1024


struct _Stage:
    comptime PREAMBLE: UInt8 = 0
    comptime BEHIND_BOUNDARY: UInt8 = 1
    comptime HEAD: UInt8 = 2
    comptime FIRST_DATA: UInt8 = 3
    comptime DATA: UInt8 = 4
    comptime END: UInt8 = 5
    comptime FAILED: UInt8 = 6


struct MultipartMachine(Movable):
    """Reports the parts of one form."""

    var part: MultipartPart
    """The part whose head was reported last."""
    var _limits: MultipartLimits
    # CR LF, two hyphens, the boundary.
    var _delimiter: List[UInt8]
    var _stage: UInt8
    var _parts: Int
    # Octets at the front of the window that were looked at in vain.
    var _looked: Int

    def __init__(
        out self,
        boundary: Span[UInt8, _],
        limits: MultipartLimits = MultipartLimits(),
    ):
        """Creates a machine before the first octet.

        Args:
            boundary: The boundary, at most 70 octets.
            limits: Bounds on the form.
        """
        debug_assert(len(boundary) <= BOUNDARY_OCTETS_MAX, "a long boundary")
        self.part = MultipartPart()
        self._limits = limits
        self._delimiter = [CR, LF, _MINUS, _MINUS]
        self._delimiter.extend(boundary)
        self._stage = _Stage.PREAMBLE
        self._parts = 0
        self._looked = 0

    def next_event(
        mut self, window: Span[UInt8, _]
    ) raises MultipartError -> MultipartEvent:
        """Returns the next event.

        Args:
            window: The octets not yet consumed, contiguous.

        Returns:
            The event; `END` again in every call after the end.

        Raises:
            MultipartError: If the form is malformed or exceeds a limit. Every
                later call raises too.
        """
        var stage = self._stage
        self._stage = _Stage.FAILED
        var event: MultipartEvent
        if stage == _Stage.DATA or stage == _Stage.FIRST_DATA:
            event = self._read_data(window, stage)
        elif stage == _Stage.HEAD:
            event = self._read_head(window)
        elif stage == _Stage.BEHIND_BOUNDARY:
            event = self._read_behind_boundary(window)
        elif stage == _Stage.PREAMBLE:
            event = self._read_preamble(window)
        elif stage == _Stage.END:
            self._stage = stage
            event = MultipartEvent(MultipartEvent.END, 0, 0, len(window))
        else:
            raise MultipartError.malformed("the form was refused before")
        return event

    def receive_end(self) raises MultipartError:
        """Reports the end of the octets, when `next_event` needs more.

        Raises:
            MultipartError: If the form is incomplete.
        """
        if self._stage != _Stage.END:
            raise MultipartError.malformed("the form was cut off")

    def window_octets_max(self) -> Int:
        """Returns how large a window must be for the machine to make progress.

        Returns:
            The number of octets: with that many, `NEED_OCTETS` always has
            `consumed` over 0.
        """
        return max(
            self._limits.part_head_octets_max + 4,
            len(self._delimiter)
            + max(self._limits.preamble_octets_max + 1, _PADDING_MAX + 2),
        )

    def _wait(mut self, stage: UInt8) -> MultipartEvent:
        self._stage = stage
        return MultipartEvent(MultipartEvent.NEED_OCTETS, 0, 0, 0)

    def _read_preamble(
        mut self, window: Span[UInt8, _]
    ) raises MultipartError -> MultipartEvent:
        # The first boundary has no line in front of it, or the preamble.
        var line = Span(self._delimiter)[2:]
        if _begins(window, line):
            if len(window) < len(line):
                return self._wait(_Stage.PREAMBLE)
            self._stage = _Stage.BEHIND_BOUNDARY
            return self._read_on(window, len(line))
        var found = self._find_delimiter(window)
        if found.start > self._limits.preamble_octets_max:
            raise MultipartError.too_large("no boundary in front")
        if not found.is_whole:
            return self._wait(_Stage.PREAMBLE)
        # A reader that takes other ends of lines would see a part there.
        for i in range(found.start):
            if window[i] == _MINUS and len(window) - i >= len(line):
                if _begins(window[i:], line):
                    raise MultipartError.malformed("a boundary begins no line")
        self._stage = _Stage.BEHIND_BOUNDARY
        return self._read_on(window, found.start + len(self._delimiter))

    def _read_on(
        mut self, window: Span[UInt8, _], consumed: Int
    ) raises MultipartError -> MultipartEvent:
        # Continues after octets that cause no event.
        var event = self.next_event(window[consumed:])
        event.start += consumed
        event.consumed += consumed
        return event

    def _read_behind_boundary(
        mut self, window: Span[UInt8, _]
    ) raises MultipartError -> MultipartEvent:
        var i = 0
        while i < len(window) and (window[i] == SPACE or window[i] == TAB):
            i += 1
        if i > _PADDING_MAX:
            raise MultipartError.malformed("blanks behind a boundary")
        if i + 2 > len(window):
            return self._wait(_Stage.BEHIND_BOUNDARY)
        if window[i] == CR and window[i + 1] == LF:
            self._parts += 1
            if self._parts > self._limits.parts_max:
                raise MultipartError.too_large("too many parts")
            self._stage = _Stage.HEAD
            self._looked = 0
            return self._read_on(window, i + 2)
        if i == 0 and window[0] == _MINUS and window[1] == _MINUS:
            self._stage = _Stage.END
            return MultipartEvent(MultipartEvent.END, 0, 0, len(window))
        raise MultipartError.malformed("a line begins with the boundary")

    def _read_head(
        mut self, window: Span[UInt8, _]
    ) raises MultipartError -> MultipartEvent:
        # An empty line at once would be a part without a disposition.
        if len(window) >= 2 and window[0] == CR and window[1] == LF:
            raise MultipartError.malformed("a part has no head")
        var end = self._looked
        while True:
            end = find_octet(window, CR, end)
            if end + 4 > len(window):
                break
            if (
                window[end + 1] == LF
                and window[end + 2] == CR
                and window[end + 3] == LF
            ):
                break
            end += 1
        if end > self._limits.part_head_octets_max:
            raise MultipartError.too_large("the head of a part is too long")
        if end + 4 > len(window):
            self._looked = min(end, len(window))
            return self._wait(_Stage.HEAD)
        self.part = read_part_head(
            window[: end + 2], self._limits.part_head_lines_max
        )
        self._stage = _Stage.FIRST_DATA
        return MultipartEvent(MultipartEvent.PART_HEAD, 0, 0, end + 4)

    def _read_data(
        mut self, window: Span[UInt8, _], stage: UInt8
    ) raises MultipartError -> MultipartEvent:
        if stage == _Stage.FIRST_DATA:
            # An empty part may end without a line of its own.
            var line = Span(self._delimiter)[2:]
            if _begins(window, line):
                if len(window) < len(line):
                    return self._wait(stage)
                self._stage = _Stage.BEHIND_BOUNDARY
                return MultipartEvent(
                    MultipartEvent.END_OF_PART, 0, 0, len(line)
                )
        var found = self._find_delimiter(window)
        if found.start > 0:
            self._stage = _Stage.DATA
            return MultipartEvent(
                MultipartEvent.DATA, 0, found.start, found.start
            )
        if not found.is_whole:
            return self._wait(stage if len(window) == 0 else _Stage.DATA)
        self._stage = _Stage.BEHIND_BOUNDARY
        return MultipartEvent(
            MultipartEvent.END_OF_PART, 0, 0, len(self._delimiter)
        )

    def _find_delimiter(self, window: Span[UInt8, _]) -> _Found:
        # The place of the delimiter, or of its possible start at the end of
        # the window.
        var i = find_octet(window, CR)
        while i < len(window):
            if _begins(window[i:], Span(self._delimiter)):
                return _Found(i, len(window) - i >= len(self._delimiter))
            i = find_octet(window, CR, i + 1)
        return _Found(len(window), False)


@fieldwise_init
struct _Found(TrivialRegisterPassable):
    var start: Int
    var is_whole: Bool


def _begins(window: Span[UInt8, _], wanted: Span[UInt8, _]) -> Bool:
    # As far as both go.
    var count = min(len(window), len(wanted))
    return equals(window[:count], wanted[:count])
