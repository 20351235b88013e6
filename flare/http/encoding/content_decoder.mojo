"""Decodes content through all codings that were applied to it.

The codings are stages with a small buffer between each two, so a decoder needs
the same memory for any content. The limits are checked after each stage, so
the output of an inner coding counts too.
"""

from flare.core import (
    OctetPointer,
    PointerTo,
    allocate_octets,
    copy_octets,
    free_octets,
    heap_create,
    heap_destroy,
)
from flare.message import FieldSection

from .coding import ContentCoding, append_codings, codings_of
from .decoding_stage import DecodingStage
from .error import EncodingError
from .limits import DecodingLimits

comptime _BETWEEN_OCTETS = 16 * 1024
# A library may fill all the room that it is given before it returns.
comptime _STEP_OCTETS_MAX = 64 * 1024


@fieldwise_init
struct CodingProgress(TrivialRegisterPassable):
    """How many octets one call consumed and produced."""

    var consumed: Int
    """Octets of the input that were taken."""
    var produced: Int
    """Octets that were written."""


struct _Link(TrivialRegisterPassable):
    # A stage, and what it has written that the next one has not read.
    var stage: DecodingStage
    var octets: OctetPointer
    var start: Int
    var end: Int
    var decoded: Int

    def __init__(out self, stage: DecodingStage):
        self.stage = stage
        self.octets = allocate_octets(_BETWEEN_OCTETS)
        self.start = 0
        self.end = 0
        self.decoded = 0

    def unread(self) -> Span[UInt8, MutUntrackedOrigin]:
        return Span(
            unsafe_ptr=self.octets.unsafe_offset(self.start),
            length=self.end - self.start,
        )

    def room(self) -> Span[mut=True, UInt8, MutUntrackedOrigin]:
        return Span(
            unsafe_ptr=self.octets.unsafe_offset(self.end),
            length=_BETWEEN_OCTETS - self.end,
        )


struct _DecoderState(Movable):
    # The stage of the coding that was applied last comes first.
    var links: List[_Link]
    var limits: DecodingLimits
    var coded: Int
    var decoded: Int
    var failure: Optional[EncodingError]

    def __init__(out self, limits: DecodingLimits):
        self.links = List[_Link]()
        self.limits = limits
        self.coded = 0
        self.decoded = 0
        self.failure = None

    def __deinit__(deinit self):
        for link in self.links:
            link.stage.close()
            free_octets(link.octets, _BETWEEN_OCTETS)


struct ContentDecoder(Movable):
    """Decodes content as it arrives, in pieces of any size.

    If no octets arrive at all, the content is empty, with any codings: servers
    send that. After an error, further calls raise the same error.
    """

    var _state: PointerTo[_DecoderState]

    def __init__(
        out self,
        codings: List[ContentCoding],
        limits: DecodingLimits = DecodingLimits(),
    ) raises:
        """Creates a decoder for a list of codings.

        Args:
            codings: The codings in the order in which they were applied.
            limits: Bounds on the decoded content.

        Raises:
            EncodingError: If a library is missing, if there are too many
                codings, or if a limit is out of its bounds.
        """
        if limits.first_problem():
            raise EncodingError(
                EncodingError.BAD_CONFIG, "configure", "", 0
            ).about(limits.first_problem().value().as_bytes())
        if len(codings) > limits.codings_max:
            raise Error(
                EncodingError(
                    EncodingError.TOO_MANY_CODINGS,
                    "decode",
                    "",
                    limits.codings_max,
                )
            )
        # If a later coding fails, this value closes those that were opened.
        var state = _DecoderState(limits)
        try:
            for i in range(len(codings) - 1, -1, -1):
                if codings[i] != ContentCoding.IDENTITY:
                    state.links.append(_Link(DecodingStage.open(codings[i])))
        except e:
            raise Error(e)
        self._state = heap_create(state^)

    def __init__(
        out self,
        *,
        content_encoding: StringSlice,
        limits: DecodingLimits = DecodingLimits(),
    ) raises:
        """Creates a decoder for the value of a Content-Encoding field.

        Args:
            content_encoding: The value of the field.
            limits: Bounds on the decoded content.

        Raises:
            EncodingError: If a coding is unknown, if there are too many, if a
                library is missing, or if a limit is out of its bounds.
        """
        var codings = List[ContentCoding]()
        var members = 0
        append_codings(
            content_encoding.as_bytes(), codings, members, limits.codings_max
        )
        self = Self(codings, limits)

    def __init__(
        out self,
        *,
        fields: FieldSection,
        limits: DecodingLimits = DecodingLimits(),
    ) raises:
        """Creates a decoder for the content of a message.

        Args:
            fields: The message's header section.
            limits: Bounds on the decoded content.

        Raises:
            EncodingError: If a coding is unknown, if there are too many, if a
                library is missing, or if a limit is out of its bounds.
        """
        self = Self(codings_of(fields, limits.codings_max), limits)

    def __deinit__(deinit self):
        """Frees the decoder."""
        heap_destroy(self._state)

    def is_identity(self) -> Bool:
        """Returns whether no coding was applied.

        Returns:
            True if the octets are the content.
        """
        return len(self._state[].links) == 0

    def decoded_octets(self) -> Int:
        """Returns the length of the content decoded so far.

        Returns:
            The number of octets.
        """
        return self._state[].decoded

    @no_inline
    def decode(
        self, input: Span[UInt8, _], into: Span[mut=True, UInt8, _]
    ) raises -> CodingProgress:
        """Decodes until the input is consumed or the output is full.

        Args:
            input: The next received octets; pass those not consumed again.
            into: The destination of the content; not empty.

        Returns:
            The numbers consumed and produced. If all input was consumed and
            there is room left, further content needs further input.

        Raises:
            EncodingError: If the octets are malformed, continue after the end
                of the coded content, or exceed a limit.
        """
        try:
            return self._decode(input, into)
        except e:
            self._state[].failure = e
            raise Error(e)

    def end(self) raises:
        """Reports that all coded octets were passed.

        Raises:
            EncodingError: If the coded content is incomplete.
        """
        var s = self._state
        if s[].failure:
            raise Error(s[].failure.value())
        if s[].coded == 0:
            return
        for link in s[].links:
            if not link.stage.has_ended():
                raise Error(link.stage.failure(EncodingError.TRUNCATED))

    def _decode(
        self, input: Span[UInt8, _], into: Span[mut=True, UInt8, _]
    ) raises EncodingError -> CodingProgress:
        var s = self._state
        if s[].failure:
            raise s[].failure.value()
        if len(s[].links) == 0:
            return self._copy(input, into)
        var consumed = 0
        var produced = 0
        while True:
            var moved = 0
            for i in range(len(s[].links) - 1, -1, -1):
                var is_last = i == len(s[].links) - 1
                var output = (
                    _untracked(into[produced:]) if is_last else s[]
                    .links[i]
                    .room()
                )
                if len(output) == 0:
                    continue
                output = output[: min(len(output), _STEP_OCTETS_MAX)]
                var source = (
                    _untracked_input(input[consumed:]) if i
                    == 0 else s[].links[i - 1].unread()
                )
                var step = s[].links[i].stage.step(source, output)
                moved += step.consumed + step.produced
                if i == 0:
                    consumed += step.consumed
                    s[].coded += step.consumed
                else:
                    self._mark_read(i - 1, step.consumed)
                if is_last:
                    produced += step.produced
                    s[].decoded += step.produced
                else:
                    s[].links[i].end += step.produced
                self._count(i, step.produced)
            if moved == 0 or produced == len(into):
                return CodingProgress(consumed, produced)

    def _copy(
        self, input: Span[UInt8, _], into: Span[mut=True, UInt8, _]
    ) raises EncodingError -> CodingProgress:
        var s = self._state
        var count = min(len(input), len(into))
        if count > 0:
            copy_octets(
                into.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
                input.unsafe_ptr(),
                count,
            )
        s[].coded += count
        s[].decoded += count
        if s[].decoded > s[].limits.decoded_octets_max:
            raise EncodingError(
                EncodingError.TOO_LARGE,
                "decode",
                "",
                s[].limits.decoded_octets_max,
            )
        return CodingProgress(count, count)

    def _mark_read(self, index: Int, count: Int):
        ref link = self._state[].links[index]
        link.start += count
        if link.start == link.end:
            link.start = 0
            link.end = 0

    def _count(self, index: Int, produced: Int) raises EncodingError:
        var s = self._state
        ref link = s[].links[index]
        link.decoded += produced
        if link.decoded > s[].limits.decoded_octets_max:
            raise link.stage.failure(
                EncodingError.TOO_LARGE, s[].limits.decoded_octets_max
            )
        if not s[].limits.allows(link.decoded, s[].coded):
            raise link.stage.failure(EncodingError.RATIO, s[].limits.ratio_max)


@always_inline
def _untracked(
    octets: Span[mut=True, UInt8, _]
) -> Span[mut=True, UInt8, MutUntrackedOrigin]:
    return Span(
        unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](),
        length=len(octets),
    )


@always_inline
def _untracked_input(octets: Span[UInt8, _]) -> Span[UInt8, MutUntrackedOrigin]:
    return Span(
        unsafe_ptr=octets.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin](),
        length=len(octets),
    )
