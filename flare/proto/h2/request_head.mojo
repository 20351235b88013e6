"""Turns a field block into the head of a request (RFC 9113 section 8.3).

The lines are written as HTTP/1.1 would write them, so that `Request` reads both
versions alike. `:authority` becomes the Host line, and all lines of Cookie
become one. An extended CONNECT becomes a GET with Upgrade (RFC 8441 section 5).
"""

from flare.core import Buffer, equals_ignoring_case, equals_lower, is_token
from flare.message import (
    FieldName,
    Method,
    RequestTarget,
    valid_host,
)

from ..head import BodyKind, Head, HeadVersion
from .content_length import parse_length
from .field_check import LineKind, is_of_connection
from .head_limits import H2HeadFault, H2HeadLimits
from .head_template import BlockFacts, HeadTemplate, is_path_literal
from .hpack import HpackDecoder, HpackError, HpackField
from .hpack.decoder import KEPT_OCTETS_MAX
from .priority_field import H2Priority, parse_priority
from .wire_line import append_field_line

# `: ` and CR LF.
comptime _AROUND_OCTETS = 4
comptime _COLON: UInt8 = 58


@fieldwise_init
struct _Seen(TrivialRegisterPassable):
    """The facts that the lines of a block have shown so far."""

    # The pseudo-header fields, and whether another field came.
    var pseudo: UInt8
    var has_fields: Bool
    var has_host_line: Bool
    var scheme_is_known: Bool
    var has_valid_host: Bool
    var section_octets: Int
    var fault: H2HeadFault

    def __init__(out self):
        self = Self(0, False, False, False, False, 0, H2HeadFault.NONE)


struct RequestHeadReader(Movable):
    """Assembles one head after another. It keeps the memory of the crumbs, and a
    pattern of the next heads."""

    var head: Head
    """The latest head. The owner may exchange it for another one."""
    var octets: Buffer
    """The octets to which it refers, and which go with it."""
    var priority: H2Priority
    """The priority that the latest head asks for."""
    var _limits: H2HeadLimits
    var _crumbs: Buffer
    var _crumb_count: Int
    var _seen: _Seen
    var _template: HeadTemplate

    def __init__(out self, limits: H2HeadLimits):
        """Creates a reader.

        Args:
            limits: The limits.
        """
        self.head = Head()
        self.octets = Buffer()
        self.priority = H2Priority()
        self._limits = limits
        self._crumbs = Buffer()
        self._crumb_count = 0
        self._seen = _Seen()
        self._template = HeadTemplate()

    def read(
        mut self, decoder: HpackDecoder, block: Span[mut=False, UInt8, _]
    ) raises HpackError -> H2HeadFault:
        """Reads a whole block.

        Args:
            decoder: The decoder of the connection.
            block: The block.

        Returns:
            The first fault, if there is one. The head is then of no use.

        Raises:
            HpackError: If the block cannot be decompressed.
        """
        self._begin()
        if self._template.fill(
            decoder,
            block,
            self._limits.section_octets_max,
            self.head,
            self.octets,
        ):
            self.priority = self._template.priority
            return H2HeadFault.NONE
        self._read_lines(decoder, block)
        return self._seen.fault

    @no_inline
    def _read_lines(
        mut self, decoder: HpackDecoder, block: Span[mut=False, UInt8, _]
    ) raises HpackError:
        var version = decoder.state[].table.version
        var path_start = 0
        var path_end = 0
        decoder.begin_block()
        var at = 0
        while True:
            var field = decoder.next(block, at)
            if not field:
                break
            if is_path_literal(block.unsafe_get(at)):
                path_start = at
                path_end = field.end
            at = field.end
            # After a fault, the rest matters to the table only.
            if not self._seen.fault:
                self._take(field)
        if not self._seen.fault:
            self._finish()
        if self._crumbs.capacity() > KEPT_OCTETS_MAX:
            self._crumbs = Buffer()
        if (
            not self._seen.fault
            and path_end > 0
            and version == decoder.state[].table.version
        ):
            self._template.take(
                block,
                BlockFacts(
                    version,
                    path_start,
                    path_end,
                    self._seen.section_octets,
                ),
                self.head,
                self.octets.span(),
                self.priority,
            )

    def _begin(mut self):
        self.head.begin(0)
        self.head.version = HeadVersion(2, 0)
        # The one before may have been CONNECT.
        self.head.method = Method.OTHER
        self.octets.clear()
        self.priority = H2Priority()
        self._crumbs.clear()
        self._crumb_count = 0
        self._seen = _Seen()

    def _take(mut self, field: HpackField):
        self._seen.section_octets += (
            len(field.name) + len(field.value) + _AROUND_OCTETS
        )
        if self._seen.section_octets > self._limits.section_octets_max:
            self._refuse(431, "the header section exceeds the limit")
        elif field.kind & LineKind.VALID_VALUE == 0:
            self._break_off("a field value holds a forbidden octet")
        elif field.kind & LineKind.VALID_NAME != 0:
            self._seen.has_fields = True
            self._take_field(field)
        elif field.kind & LineKind.PSEUDO != 0:
            self._take_pseudo(field)
        elif len(field.name) > 0 and field.name.unsafe_get(0) == _COLON:
            self._break_off("an unknown pseudo-header field")
        else:
            self._break_off("a field name holds a forbidden octet")

    @always_inline
    def _take_pseudo(mut self, field: HpackField):
        var bit = field.kind & LineKind.PSEUDO
        if bit == LineKind.PATH:
            self.head.target_start = len(self.octets)
            self.head.target_octets = len(field.value)
            self.octets.append(field.value)
        elif bit == LineKind.METHOD:
            self.head.start = len(self.octets)
            self.head.method_octets = len(field.value)
            self.head.method = Method.from_octets(field.value)
            self.octets.append(field.value)
            if self.head.method == Method.OTHER and not is_token(field.value):
                self._break_off("the method is not a token")
        elif bit == LineKind.SCHEME:
            # In any case (RFC 3986 section 3.1).
            self._seen.scheme_is_known = equals_lower(
                field.value, "https".as_bytes()
            ) or equals_lower(field.value, "http".as_bytes())
        elif bit == LineKind.PROTOCOL:
            self.head.wants_upgrade = True
            self.head.known |= FieldName.bit(FieldName.UPGRADE)
            self._append_line("Upgrade".as_bytes(), field.value)
            if not is_token(field.value):
                self._break_off("the protocol is not a token")
        else:
            self.head.host = len(self.head.lines)
            self.head.known |= FieldName.bit(FieldName.HOST)
            self._seen.has_valid_host = field.kind & LineKind.VALID_HOST != 0
            self._append_line("Host".as_bytes(), field.value)
        if self._seen.pseudo & bit != 0:
            self._break_off("a repeated pseudo-header field")
        elif self._seen.has_fields:
            self._break_off("a pseudo-header field after another field")
        self._seen.pseudo |= bit

    def _take_field(mut self, field: HpackField):
        ref h = self.head
        if is_of_connection(field.known):
            self._break_off("a field of a connection of HTTP/1.1")
            return
        if field.known == FieldName.COOKIE:
            self._take_crumb(field.value)
            return
        if field.known == FieldName.HOST:
            if self._seen.has_host_line:
                self._refuse(400, "Host is repeated")
                return
            self._seen.has_host_line = True
            if h.host >= 0:
                # It may repeat the value of `:authority` (section 8.3.1).
                if not equals_ignoring_case(self._host(), field.value):
                    self._break_off("Host differs from the authority")
                return
            h.host = len(h.lines)
        elif field.known == FieldName.CONTENT_LENGTH:
            self._take_content_length(field.value)
        elif field.known == FieldName.TE:
            if not equals_lower(field.value, "trailers".as_bytes()):
                self._break_off("TE is not trailers")
        elif field.known == FieldName.EXPECT:
            h.expects_continue = h.known & FieldName.bit(
                FieldName.EXPECT
            ) == 0 and equals_lower(field.value, "100-continue".as_bytes())
        elif field.known == FieldName.PRIORITY:
            self.priority = parse_priority(field.value, self.priority)
        h.known |= FieldName.bit(field.known)
        self._append_line(field.name, field.value)

    def _take_crumb(mut self, value: Span[UInt8, _]):
        self._crumb_count += 1
        if self._crumb_count > self._limits.crumbs_max:
            self._refuse(431, "too many lines of Cookie")
            return
        if self._crumb_count > 1:
            self._crumbs.append("; ")
        self._crumbs.append(value)

    def _take_content_length(mut self, value: Span[UInt8, _]):
        ref h = self.head
        if h.content_length >= 0:
            self._break_off("more than one Content-Length")
            return
        h.content_length = parse_length(value)
        if h.content_length < 0:
            self._break_off("Content-Length is not a number")

    def _finish(mut self):
        ref h = self.head
        if self._crumb_count > 0:
            h.known |= FieldName.bit(FieldName.COOKIE)
            var crumbs = Buffer()
            swap(crumbs, self._crumbs)
            self._append_line("cookie".as_bytes(), crumbs.span())
            swap(crumbs, self._crumbs)
        h.known &= ~FieldName.bit(FieldName.UNKNOWN)
        comptime WANTED = LineKind.METHOD | LineKind.SCHEME | LineKind.PATH
        if h.wants_upgrade:
            self._finish_extended_connect()
        if h.method == Method.CONNECT:
            self._refuse(400, "CONNECT has no origin here")
        elif self._seen.pseudo & WANTED != WANTED:
            self._break_off("a pseudo-header field is missing")
        elif not self._seen.scheme_is_known:
            self._refuse(400, "the scheme is neither http nor https")
        elif h.host < 0:
            self._refuse(400, "Host is missing")
        elif not self._seen.has_valid_host and not valid_host(self._host()):
            self._break_off("the authority is not valid")
        if self._seen.fault:
            return
        self._finish_target()
        h.keep_alive = True
        if h.content_length > 0:
            h.body = BodyKind.LENGTH
        if not h.expects_continue and (
            h.known & FieldName.bit(FieldName.EXPECT) != 0
        ):
            self._refuse(417, "Expect is not 100-continue")

    def _finish_extended_connect(mut self):
        ref h = self.head
        if h.method != Method.CONNECT:
            self._break_off("a protocol without CONNECT")
        elif h.content_length >= 0:
            # CONNECT has no content (RFC 9110 section 9.3.6).
            self._break_off("CONNECT has a Content-Length")
        comptime GET: StaticString = "GET"
        h.method = Method.GET
        h.start = len(self.octets)
        h.method_octets = GET.byte_length()
        self.octets.append(GET)
        h.expects_continue = False
        h.known &= ~FieldName.bit(FieldName.EXPECT)

    def _finish_target(mut self):
        ref h = self.head
        var octets = self.octets.span()
        try:
            h.target = RequestTarget.parse(
                octets[h.target_start :][: h.target_octets], h.method
            )
        except:
            if h.target_octets == 0:
                self._break_off("the path is empty")
            else:
                self._refuse(400, "the path is not valid")
            return
        if h.target.form == RequestTarget.ABSOLUTE_FORM:
            self._break_off("the path has an origin")

    def _host(self) -> Span[UInt8, origin_of(self.octets)]:
        ref line = self.head.lines[self.head.host]
        return self.octets.span().unsafe_subspan(
            offset=Int(line.value_start), length=Int(line.value_octets)
        )

    def _append_line(mut self, name: Span[UInt8, _], value: Span[UInt8, _]):
        if len(self.head.lines) >= self._limits.lines_max:
            self._refuse(431, "too many field lines")
            return
        append_field_line(name, value, self.head.lines, self.octets)

    def _break_off(mut self, reason: StaticString):
        self._note(H2HeadFault.malformed(reason))

    def _refuse(mut self, status: Int, reason: StaticString):
        self._note(H2HeadFault.refused(status, reason))

    def _note(mut self, fault: H2HeadFault):
        # The first one counts.
        if not self._seen.fault:
            self._seen.fault = fault
