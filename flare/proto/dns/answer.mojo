"""Parses the answer of a server to a query.

A message without the id and the question of the query is FOREIGN: the caller
continues to wait. CNAME records are followed within the message, in any order,
at most `CNAMES_MAX` of them.
"""

from .error import DnsMessageError
from .header import (
    HEADER_OCTETS,
    DnsHeader,
    ResponseCode,
    uint16_at,
)
from .name import same_name, skip_name
from .record import DnsRecord, RecordType, read_record

comptime RECORDS_MAX = 2048
"""The most records of one answer. Each is compared with the name, so without a
bound a short message could cause much work.
"""

comptime CNAMES_MAX = 16
"""The most aliases that are followed."""

comptime _QUESTION_END_OCTETS = 4


struct DnsOutcome:
    """The outcomes of an answer."""

    comptime ADDRESSES: UInt8 = 0
    """The name has the listed addresses."""
    comptime NO_ADDRESS: UInt8 = 1
    """The name exists, but no address of this type (RFC 2308 section 2.2)."""
    comptime NO_SUCH_NAME: UInt8 = 2
    """The name does not exist."""
    comptime TRUNCATED: UInt8 = 3
    """The answer did not fit: repeat the query over TCP."""
    comptime FAILED: UInt8 = 4
    """The server gave no answer; `response_code` is the reason. 0 means that
    it only referred to other servers.
    """


struct DnsAnswer(Movable):
    """The answer of a server."""

    var outcome: UInt8
    """A `DnsOutcome`."""
    var response_code: Int
    """A `ResponseCode`, with the bits of EDNS."""
    var addresses: List[SIMD[DType.uint8, 16]]
    """The addresses in the order of the server; for IPv4, the first four
    octets apply.
    """
    var ttl_seconds: Optional[Int]
    """How long the answer may be cached; `None` if the server did not say."""
    var canonical_name: Int
    """The place in the message of the name that has the addresses."""

    def __init__(out self, outcome: UInt8, response_code: Int):
        """Creates an answer without addresses.

        Args:
            outcome: A `DnsOutcome`.
            response_code: A `ResponseCode`.
        """
        self.outcome = outcome
        self.response_code = response_code
        self.addresses = []
        self.ttl_seconds = None
        self.canonical_name = HEADER_OCTETS


def read_answer(
    message: Span[UInt8, _], query: Span[UInt8, _]
) raises DnsMessageError -> DnsAnswer:
    """Parses the answer to a query for addresses.

    Args:
        message: A received message.
        query: The result of `write_query`, for A or AAAA.

    Returns:
        The answer.

    Raises:
        DnsMessageError: FOREIGN if it does not answer this query, MALFORMED if
            it cannot be parsed.
    """
    var header = DnsHeader.parse(message)
    if header.id != uint16_at(query, 0):
        raise _foreign("the id is not that of the query", 0)
    if not header.is_response() or header.opcode() != 0:
        raise _foreign("the message is not an answer", 2)
    if header.questions == 0 and header.response_code() != 0:
        # A server that cannot read a query may send the header only.
        return DnsAnswer(DnsOutcome.FAILED, header.response_code())
    if header.questions != 1:
        raise _foreign("the message has not one question", 4)
    var at = _check_question(message, query)
    if header.is_truncated():
        return DnsAnswer(DnsOutcome.TRUNCATED, header.response_code())
    var sections = _Sections(header.response_code())
    sections.read(message, header, at)
    return _judge(message, header, sections, uint16_at(message, at - 4))


struct _Sections(Movable):
    # The records that matter: those of the answer section, the SOA record of
    # the authority section, the upper bits of the code from OPT.
    var answers: List[DnsRecord]
    var soa: Optional[DnsRecord]
    var response_code: Int

    def __init__(out self, response_code: Int):
        self.answers = []
        self.soa = None
        self.response_code = response_code

    def read(
        mut self, message: Span[UInt8, _], header: DnsHeader, start: Int
    ) raises DnsMessageError:
        var total = header.answers + header.authorities + header.additionals
        if total > RECORDS_MAX:
            raise _malformed("the message has too many records", 6)
        var at = start
        var has_options = False
        for i in range(total):
            var record = read_record(message, at)
            if record.type == RecordType.OPT:
                # RFC 6891 section 6.1.1: one, with the name of the root, among
                # the additional records.
                if (
                    has_options
                    or message[record.owner] != 0
                    or i < header.answers + header.authorities
                ):
                    raise _malformed("an OPT record is out of place", at)
                has_options = True
                self.response_code |= Int(record.ttl >> 24) << 4
            elif i < header.answers:
                if (
                    record.is_internet(RecordType.A)
                    or record.is_internet(RecordType.AAAA)
                    or record.is_internet(RecordType.CNAME)
                ):
                    self.answers.append(record)
            elif i < header.answers + header.authorities:
                if record.is_internet(RecordType.SOA) and not self.soa:
                    self.soa = record
            at = record.end()


def _check_question(
    message: Span[UInt8, _], query: Span[UInt8, _]
) raises DnsMessageError -> Int:
    var end = skip_name(message, HEADER_OCTETS) + _QUESTION_END_OCTETS
    if end > len(message):
        raise _malformed("the question leaves the message", len(message))
    var asked_end = skip_name(query, HEADER_OCTETS) + _QUESTION_END_OCTETS
    if not same_name(message, HEADER_OCTETS, query, HEADER_OCTETS):
        raise _foreign("the question has another name", HEADER_OCTETS)
    for i in range(1, _QUESTION_END_OCTETS + 1):
        if message[end - i] != query[asked_end - i]:
            raise _foreign("the question has another type", end - 4)
    return end


def _judge(
    message: Span[UInt8, _],
    header: DnsHeader,
    sections: _Sections,
    type: UInt16,
) raises DnsMessageError -> DnsAnswer:
    var code = sections.response_code
    if code != ResponseCode.NO_ERROR and code != ResponseCode.NAME_ERROR:
        return DnsAnswer(DnsOutcome.FAILED, code)
    var answer = DnsAnswer(DnsOutcome.ADDRESSES, code)
    var ttl = _follow_names(message, sections.answers, answer)
    if code == ResponseCode.NO_ERROR:
        for record in sections.answers:
            if record.is_internet(type) and same_name(
                message, record.owner, message, answer.canonical_name
            ):
                answer.addresses.append(_address(message, record))
                ttl = min(ttl, record.ttl_seconds())
        if len(answer.addresses) > 0:
            answer.ttl_seconds = ttl
            return answer^
        answer.outcome = DnsOutcome.NO_ADDRESS
    else:
        answer.outcome = DnsOutcome.NO_SUCH_NAME
    if sections.soa:
        ref soa = sections.soa.value()
        var zone_ttl = min(soa.ttl_seconds(), soa.soa_minimum_seconds(message))
        answer.ttl_seconds = min(ttl, zone_ttl)
    elif (
        code == ResponseCode.NO_ERROR
        and not header.is_authoritative()
        and not header.recursion_available()
    ):
        answer.outcome = DnsOutcome.FAILED
    return answer^


def _follow_names(
    message: Span[UInt8, _], records: List[DnsRecord], mut answer: DnsAnswer
) raises DnsMessageError -> Int:
    # Returns the shortest time of the names on the way.
    var ttl = Int.MAX
    for _ in range(CNAMES_MAX + 1):
        var found = False
        for record in records:
            if record.is_internet(RecordType.CNAME) and same_name(
                message, record.owner, message, answer.canonical_name
            ):
                answer.canonical_name = record.data
                ttl = min(ttl, record.ttl_seconds())
                found = True
                break
        if not found:
            return ttl
    raise _malformed("too many names lead to others", answer.canonical_name)


def _address(
    message: Span[UInt8, _], record: DnsRecord
) -> SIMD[DType.uint8, 16]:
    var octets = SIMD[DType.uint8, 16](0)
    for i in range(record.data_octets):
        octets[i] = message[record.data + i]
    return octets


def _foreign(reason: StaticString, offset: Int) -> DnsMessageError:
    return DnsMessageError(DnsMessageError.FOREIGN, reason, offset)


def _malformed(reason: StaticString, offset: Int) -> DnsMessageError:
    return DnsMessageError(DnsMessageError.MALFORMED, reason, offset)
