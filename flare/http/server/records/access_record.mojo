"""Defines the record of a request, as the access log gets it."""

from std.memory import unsafe_memcpy

from flare.core.text_buffer import TextBuffer
from flare.http.version import HttpVersion
from flare.message import Method
from flare.net import SocketAddr

from .access_facts import AccessEnd, AccessFacts, AccessTexts
from .access_text import append_number

comptime RECORD_TARGET_OCTETS_MAX = 8192
"""The most octets of a request target that a record may keep."""
comptime _NS_PER_MS = 1_000_000
comptime _NS_PER_US = 1_000


struct AccessRecord(Copyable, Movable, Writable):
    """One request that has ended."""

    var unix_seconds: Int
    """When the answer was written."""
    var worker: Int
    """The index of the worker."""
    var request_id: Int
    """The number of the request in log lines; 0 if it was refused before its
    head was complete.
    """
    var method: Method
    """The method; `OTHER` for extensions."""
    var status: Int
    """The status of the response; 499 if the client left before one began."""
    var response_octets: Int
    """The length of the response's content."""
    var duration_ms: Int
    """The time from the complete head to the written answer."""
    var version: HttpVersion
    """The version of HTTP that the client spoke; HTTP/1.1 if the request was
    refused before its head was complete."""
    var target_octets: Int
    """The length of the request target; the record may keep less of it."""
    var _unix_us: Int
    var _facts: AccessFacts
    # The texts, in the order of `AccessTexts`.
    var _texts: List[UInt8]

    def __init__(out self):
        """Creates an empty record."""
        self.unix_seconds = 0
        self.worker = 0
        self.request_id = 0
        self.method = Method.OTHER
        self.status = 0
        self.response_octets = 0
        self.duration_ms = 0
        self.version = HttpVersion.HTTP_1_1
        self.target_octets = 0
        self._unix_us = 0
        self._facts = AccessFacts()
        self._texts = List[UInt8]()

    def set_target(mut self, target: Span[UInt8, _]):
        """Sets the request target, and drops all other texts.

        Args:
            target: The target: visible ASCII, as the parser ensures. The record
                keeps the first 8,192 octets.
        """
        var kept = target[: min(len(target), RECORD_TARGET_OCTETS_MAX)]
        self.target_octets = len(target)
        self._facts.texts = AccessTexts()
        self._facts.texts.target = UInt16(len(kept))
        self._texts.clear()
        self._texts.extend(kept)

    def load(
        mut self,
        facts: AccessFacts,
        texts: Span[UInt8, _],
        wall_minus_monotonic_ns: Int,
    ):
        """Sets all of the record.

        Args:
            facts: The facts.
            texts: The texts, as long as the facts say.
            wall_minus_monotonic_ns: The difference between the two clocks.
        """
        self._facts = facts
        self._unix_us = (
            facts.outcome.ended_ns + wall_minus_monotonic_ns
        ) // _NS_PER_US
        self.unix_seconds = self._unix_us // 1_000_000
        self.worker = Int(facts.worker)
        self.request_id = facts.request_id
        self.method = Method(facts.method)
        self.status = Int(facts.outcome.status)
        self.response_octets = facts.outcome.response_octets
        self.duration_ms = facts.duration_ns // _NS_PER_MS
        self.version = HttpVersion(
            Int(facts.version_major), Int(facts.version_minor)
        )
        self.target_octets = Int(facts.target_octets)
        self._texts.resize(unsafe_uninit_length=len(texts))
        unsafe_memcpy(
            dest=self._texts.unsafe_ptr(),
            src=texts.unsafe_ptr(),
            count=len(texts),
        )

    @always_inline
    def unix_us(self) -> Int:
        """Returns when the answer was written.

        Returns:
            Microseconds since 1970-01-01 00:00:00 UTC.
        """
        return self._unix_us

    @always_inline
    def duration_us(self) -> Int:
        """Returns the time from the complete head to the written answer.

        Returns:
            Microseconds.
        """
        return self._facts.duration_ns // _NS_PER_US

    @always_inline
    def request_octets(self) -> Int:
        """Returns how much content of the request was received.

        Returns:
            The number of octets.
        """
        return self._facts.request_octets

    @always_inline
    def is_secure(self) -> Bool:
        """Returns whether the request came over TLS.

        Returns:
            True if its connection uses TLS.
        """
        return self._facts.outcome.is_secure

    @always_inline
    def end(self) -> AccessEnd:
        """Returns how the request ended.

        Returns:
            One of the constants of `AccessEnd`.
        """
        return self._facts.outcome.end

    def client(self) -> Optional[SocketAddr]:
        """Returns the address of the client.

        Returns:
            The address of the peer, or of the client that a trusted proxy
            reported; `None` at a Unix socket.
        """
        if not self._facts.has_client:
            return None
        return self._facts.client

    def target(self) -> StringSlice[origin_of(self)]:
        """Returns the kept part of the request target.

        Returns:
            Visible ASCII.
        """
        return self._text(0, self._facts.texts.target)

    def method_text(self) -> StringSlice[origin_of(self)]:
        """Returns the method as the client sent it, if it has no number.

        Returns:
            The first 32 octets of a token; empty unless `method` is `OTHER`,
            and if the request was refused.
        """
        return self._text(
            Int(self._facts.texts.target), self._facts.texts.method
        )

    def route(self) -> StringSlice[origin_of(self)]:
        """Returns the pattern of the route.

        Returns:
            The pattern; empty if no route fits, or the log does not want it.
        """
        ref texts = self._facts.texts
        return self._text(Int(texts.target) + Int(texts.method), texts.route)

    def user_agent(self) -> StringSlice[origin_of(self)]:
        """Returns the kept part of User-Agent, as the client sent it.

        Returns:
            Any octets, perhaps not UTF-8: escape them. Empty if the request has
            none, or the log does not want it.
        """
        ref texts = self._facts.texts
        return self._text(
            Int(texts.target) + Int(texts.method) + Int(texts.route),
            texts.user_agent,
        )

    def referer(self) -> StringSlice[origin_of(self)]:
        """Returns the kept part of Referer, as the client sent it.

        Returns:
            Any octets, perhaps not UTF-8: escape them. Empty if the request has
            none, or the log does not want it.
        """
        ref texts = self._facts.texts
        return self._text(
            texts.total()
            - Int(texts.trace_id)
            - Int(texts.request_id)
            - Int(texts.referer),
            texts.referer,
        )

    def request_id_text(self) -> StringSlice[origin_of(self)]:
        """Returns X-Request-Id of the response, or else of the request.

        Returns:
            Any octets, perhaps not UTF-8: escape them. Empty if there is none,
            or the log does not want it.
        """
        ref texts = self._facts.texts
        return self._text(
            texts.total() - Int(texts.trace_id) - Int(texts.request_id),
            texts.request_id,
        )

    def trace_id(self) -> StringSlice[origin_of(self)]:
        """Returns the trace id of a valid `traceparent` (W3C Trace Context).

        Returns:
            32 lower-case hexadecimal digits; empty if the request has none, or
            the log does not want it.
        """
        ref texts = self._facts.texts
        return self._text(texts.total() - Int(texts.trace_id), texts.trace_id)

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line: time, worker, id, method, target, status, size,
        duration, version.

        Args:
            writer: The destination.
        """
        var line = TextBuffer()
        self.append_to(line)
        writer.write(StringSlice(unsafe_from_utf8=line.span()))

    def append_to(self, mut line: TextBuffer):
        """Appends the text that `write_to` writes.

        Args:
            line: The destination.
        """
        append_number(line, self.unix_seconds)
        line.append(" worker=")
        append_number(line, self.worker)
        line.append(" id=")
        append_number(line, self.request_id)
        line.append(" ")
        if self.method == Method.OTHER:
            line.append("OTHER")
        else:
            line.append(self.method.name())
        line.append(" ")
        # A refused request has no target, and a line always has all its parts.
        if self.target_octets == 0:
            line.append("-")
        line.append(self.target().as_bytes())
        if self.target_octets > Int(self._facts.texts.target):
            line.append("...")
        line.append(" ")
        append_number(line, self.status)
        line.append(" ")
        append_number(line, self.response_octets)
        line.append(" ")
        append_number(line, self.duration_ms)
        line.append("ms HTTP/")
        append_number(line, self.version.major)
        line.append(".")
        append_number(line, self.version.minor)

    @always_inline
    def _text(self, start: Int, length: UInt16) -> StringSlice[origin_of(self)]:
        return StringSlice(
            unsafe_from_utf8=Span[UInt8, origin_of(self)](
                unsafe_ptr=self._texts.unsafe_ptr()
                .unsafe_offset(start)
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[origin_of(self)](),
                length=Int(length),
            )
        )
