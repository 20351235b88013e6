"""Builds DNS answers whose meaning is known, and judges any octets plainly.

The judge expands every name into its labels and compares these; the codec
never does.
"""

from flare.core import lower_octet
from flare.proto.dns import DnsOutcome, RecordType, write_query

from fuzz.random import Random

comptime Labels = List[List[UInt8]]
"""A name without its root."""

comptime Address = SIMD[DType.uint8, 16]
"""The data of an address record; that of A in the first four octets."""

comptime READ = 0
"""The message was read."""
comptime FOREIGN = 1
"""The message answers another question."""
comptime MALFORMED = 2
"""The message cannot be read."""


@fieldwise_init
struct Verdict(Copyable, Movable):
    """Says what a message means."""

    var kind: Int
    """One of the constants above."""
    var outcome: UInt8
    """A `DnsOutcome`."""
    var code: Int
    """A response code."""
    var addresses: List[Address]
    """What was found."""
    var ttl: Optional[Int]
    """How long it holds."""

    @staticmethod
    def of(kind: Int) -> Self:
        """Makes the verdict on what is not read.

        Args:
            kind: `FOREIGN` or `MALFORMED`.

        Returns:
            The verdict.
        """
        return Self(kind, 0, 0, [], None)

    @staticmethod
    def failed(outcome: UInt8, code: Int) -> Self:
        """Makes the verdict on an answer without addresses.

        Args:
            outcome: A `DnsOutcome`.
            code: A response code.

        Returns:
            The verdict.
        """
        return Self(READ, outcome, code, [], None)


struct Writer(Movable):
    """Writes messages, and compresses names when it likes."""

    var octets: List[UInt8]
    """What is written."""
    var _suffixes: List[Labels]
    var _offsets: List[Int]

    def __init__(out self):
        """Begins behind an empty header."""
        self.octets = List[UInt8](length=12, fill=0)
        self._suffixes = []
        self._offsets = []

    def number(mut self, value: Int, octets: Int):
        """Writes a number.

        Args:
            value: The number.
            octets: Its length.
        """
        for i in range(octets - 1, -1, -1):
            self.octets.append(UInt8((value >> (8 * i)) & 255))

    def set_number(mut self, at: Int, value: Int):
        """Writes a number of 16 bits over what stands there.

        Args:
            at: Where.
            value: The number.
        """
        self.octets[at] = UInt8(value >> 8 & 255)
        self.octets[at + 1] = UInt8(value & 255)

    def name(mut self, labels: Labels, mut random: Random):
        """Writes a name in mixed case.

        Args:
            labels: The name.
            random: Decides about case and pointers.
        """
        for i in range(len(labels)):
            var rest = Labels(Span(labels)[i:])
            if random.chance(70):
                for k in range(len(self._suffixes)):
                    if self._suffixes[k] == rest:
                        self.number(0xC000 | self._offsets[k], 2)
                        return
            if len(self.octets) < 0x4000:
                self._suffixes.append(rest^)
                self._offsets.append(len(self.octets))
            self.octets.append(UInt8(len(labels[i])))
            for octet in labels[i]:
                var flips = octet >= 97 and octet <= 122 and random.chance(20)
                self.octets.append(octet ^ 32 if flips else octet)
        self.octets.append(0)


struct BuiltAnswer(Movable):
    """Holds a query, an answer to it, and what the answer means."""

    var query: List[UInt8]
    """What was asked."""
    var message: List[UInt8]
    """The answer."""
    var verdict: Verdict
    """What it means."""

    def __init__(out self, mut random: Random) raises:
        """Draws a question and an answer.

        Args:
            random: Draws them.

        Raises:
            Error: If the question cannot be written.
        """
        var type = RecordType.A if random.chance(60) else RecordType.AAAA
        var chain: List[Labels] = [_draw_name(0, random)]
        var links = random.below(4)
        if random.chance(3):
            links = random.between(15, 18)
        for i in range(links):
            chain.append(_draw_name(i + 1, random))
        var is_too_long = links > 0 and random.chance(3)
        if is_too_long:
            chain[links] = _draw_name(links, random, 256)
        self.query = _query(chain[0], type, UInt16(random.below(65536)))
        self.verdict = Verdict(READ, DnsOutcome.ADDRESSES, 0, [], None)
        var writer = Writer()
        writer.name(chain[0], random)
        writer.number(Int(type), 2)
        writer.number(1, 2)
        var ttl = Int.MAX
        var answers = _write_chain(writer, chain, ttl, random)
        var code = random.pick([0, 0, 0, 0, 0, 0, 3, 3, 2, 5, 1])
        if code == 0 and random.chance(70):
            answers += _write_addresses(
                writer, chain[links], type, ttl, self.verdict, random
            )
        elif code == 0:
            self.verdict.outcome = DnsOutcome.NO_ADDRESS
        elif code == 3:
            self.verdict.outcome = DnsOutcome.NO_SUCH_NAME
            self.verdict.code = code
        var authorities = 0
        var is_negative = len(self.verdict.addresses) == 0
        if not is_negative:
            self.verdict.ttl = ttl
        if random.chance(50):
            authorities = 1
            var zone = _write_soa(writer, chain[links], random)
            if is_negative:
                self.verdict.ttl = min(ttl, zone)
        var flags = 0x8180 | code
        if random.chance(5):
            # The records need not be there.
            self.verdict = Verdict.failed(DnsOutcome.TRUNCATED, code)
            flags |= 0x0200
        elif is_too_long:
            self.verdict = Verdict.of(MALFORMED)
        elif code not in (0, 3):
            self.verdict = Verdict.failed(DnsOutcome.FAILED, code)
        elif links > 16:
            self.verdict = Verdict.of(MALFORMED)
        var additionals = 0
        if random.chance(50):
            additionals = 1
            _write_options(writer)
        writer.octets[0] = self.query[0]
        writer.octets[1] = self.query[1]
        writer.set_number(2, flags)
        writer.set_number(4, 1)
        writer.set_number(6, answers)
        writer.set_number(8, authorities)
        writer.set_number(10, additionals)
        self.message = writer.octets.copy()


def judge(message: Span[UInt8, _], query: Span[UInt8, _]) -> Verdict:
    """Reads any message plainly.

    Args:
        message: Any octets.
        query: What was asked.

    Returns:
        What the message means.
    """
    if len(message) < 12:
        return Verdict.of(MALFORMED)
    if _number(message, 0, 2) != _number(query, 0, 2):
        return Verdict.of(FOREIGN)
    var flags = _number(message, 2, 2)
    if flags & 0x8000 == 0 or flags & 0x7800 != 0:
        return Verdict.of(FOREIGN)
    var questions = _number(message, 4, 2)
    if questions == 0 and flags & 15 != 0:
        return Verdict.failed(DnsOutcome.FAILED, flags & 15)
    if questions != 1:
        return Verdict.of(FOREIGN)
    var asked = _expand(query, 12).value().copy()
    var question = _expand(message, 12)
    if not question or question.value()[1] + 4 > len(message):
        return Verdict.of(MALFORMED)
    var at = question.value()[1]
    if question.value()[0] != asked[0]:
        return Verdict.of(FOREIGN)
    if _number(message, at, 4) != _number(query, asked[1], 4):
        return Verdict.of(FOREIGN)
    if flags & 0x0200 != 0:
        return Verdict.failed(DnsOutcome.TRUNCATED, flags & 15)
    return _judge_records(message, at + 4, flags, asked[0])


@fieldwise_init
struct _Record(Copyable, Movable):
    var owner: Labels
    var type: Int
    var ttl: Int
    var target: Labels
    var address: Address


def _judge_records(
    message: Span[UInt8, _], start: Int, flags: Int, asked: Labels
) -> Verdict:
    var counts = [
        _number(message, 6, 2),
        _number(message, 8, 2),
        _number(message, 10, 2),
    ]
    if counts[0] + counts[1] + counts[2] > 2048:
        return Verdict.of(MALFORMED)
    var records = List[_Record]()
    var zone_ttl = -1
    var has_options = False
    var code = flags & 15
    var at = start
    for section in range(3):
        for _ in range(counts[section]):
            var owner = _expand(message, at)
            if not owner or owner.value()[1] + 10 > len(message):
                return Verdict.of(MALFORMED)
            var fixed = owner.value()[1]
            var type = _number(message, fixed, 2)
            var is_internet = _number(message, fixed + 2, 2) == 1
            var ttl = _number(message, fixed + 4, 4)
            var data = fixed + 10
            var end = data + _number(message, fixed + 8, 2)
            if end > len(message):
                return Verdict.of(MALFORMED)
            if ttl >= 1 << 31 and type != 41:
                ttl = 0
            if type == 41:
                if section != 2 or has_options or message[at] != 0:
                    return Verdict.of(MALFORMED)
                has_options = True
                code |= (ttl >> 24) << 4
            elif is_internet and type in (1, 5, 6, 28):
                var judged = _judge_data(message, type, data, end)
                if not judged:
                    return Verdict.of(MALFORMED)
                if section == 0 and type != 6:
                    judged.value().owner = owner.value()[0].copy()
                    judged.value().ttl = ttl
                    records.append(judged.take())
                elif section == 1 and type == 6 and zone_ttl < 0:
                    var minimum = _number(message, end - 4, 4)
                    zone_ttl = min(ttl, 0 if minimum >= 1 << 31 else minimum)
            at = end
    return _conclude(records, asked, message, flags, code, zone_ttl)


def _conclude(
    records: List[_Record],
    asked: Labels,
    message: Span[UInt8, _],
    flags: Int,
    code: Int,
    zone_ttl: Int,
) -> Verdict:
    if code != 0 and code != 3:
        return Verdict.failed(DnsOutcome.FAILED, code)
    var name = asked.copy()
    var ttl = Int.MAX
    var links = 0
    var i = 0
    while i < len(records):
        if records[i].type == 5 and records[i].owner == name:
            links += 1
            if links > 16:
                return Verdict.of(MALFORMED)
            name = records[i].target.copy()
            ttl = min(ttl, records[i].ttl)
            i = 0
        else:
            i += 1
    var question_end = _expand(message, 12).value()[1]
    var type = _number(message, question_end, 2)
    var verdict = Verdict(READ, DnsOutcome.ADDRESSES, code, [], None)
    if code == 0:
        for record in records:
            if record.type == type and record.owner == name:
                verdict.addresses.append(record.address)
                ttl = min(ttl, record.ttl)
    if len(verdict.addresses) > 0 and type in (1, 28):
        verdict.ttl = ttl
        return verdict^
    verdict.outcome = (
        DnsOutcome.NO_ADDRESS if code == 0 else DnsOutcome.NO_SUCH_NAME
    )
    if zone_ttl >= 0:
        verdict.ttl = min(ttl, zone_ttl)
    elif code == 0 and flags & 0x0480 == 0:
        verdict.outcome = DnsOutcome.FAILED
    return verdict^


def _judge_data(
    message: Span[UInt8, _], type: Int, data: Int, end: Int
) -> Optional[_Record]:
    var record = _Record([], type, 0, [], Address(0))
    if type == 1 or type == 28:
        if end - data != (4 if type == 1 else 16):
            return None
        for i in range(end - data):
            record.address[i] = message[data + i]
        return record^
    var first = _expand(message, data)
    if not first:
        return None
    var at = first.value()[1]
    if type == 5:
        record.target = first.value()[0].copy()
        return record^ if at == end else Optional[_Record](None)
    var second = _expand(message, at)
    if not second or second.value()[1] + 20 != end:
        return None
    return record^


def _expand(
    message: Span[UInt8, _], start: Int
) -> Optional[Tuple[Labels, Int]]:
    # The labels in small letters, and the end of the name where it began.
    var labels = Labels()
    var octets = 1
    var at = start
    var run = start
    var end = -1
    var pointers = 0
    while True:
        if at >= len(message):
            return None
        var first = Int(message[at])
        if first >= 192:
            if at + 1 >= len(message):
                return None
            var target = (first - 192) * 256 + Int(message[at + 1])
            pointers += 1
            if target >= run or target < 12 or pointers > 127:
                return None
            if end < 0:
                end = at + 2
            at = target
            run = target
            continue
        if first >= 64 or at + 1 + first > len(message):
            return None
        if first == 0:
            return (labels^, end if end >= 0 else at + 1)
        octets += 1 + first
        if octets > 255:
            return None
        var label = List[UInt8](capacity=first)
        for i in range(first):
            label.append(lower_octet(message[at + 1 + i]))
        labels.append(label^)
        at += 1 + first


def _number(octets: Span[UInt8, _], at: Int, count: Int) -> Int:
    var number = 0
    for i in range(count):
        number = number << 8 | Int(octets[at + i])
    return number


def _draw_name(index: Int, mut random: Random, exactly: Int = 0) -> Labels:
    # The first label has the index, so that no two names of a chain are equal.
    comptime MEMBERS: StaticString = "abcdefghijklmnopqrstuvwxyz0123456789-"
    var labels = Labels()
    var own = List[UInt8](String("n", index, "-").as_bytes())
    own.extend(Span(random.octets_of(MEMBERS, random.below(5))))
    labels.append(own^)
    if exactly > 0 or random.chance(5):
        # As long as a name may be, or nearly.
        var whole = exactly if exactly > 0 else random.between(253, 255)
        var left = whole - 1 - (1 + len(labels[0]))
        while left > 1:
            var length = min(63, left - 1)
            if left - 1 - length == 1:
                length -= 1
            labels.append(random.octets_of(MEMBERS, length))
            left -= 1 + length
        return labels^
    for _ in range(random.below(3)):
        labels.append(random.octets_of(MEMBERS, random.between(1, 8)))
    if random.chance(80):
        labels.append(List[UInt8]("example".as_bytes()))
        labels.append(List[UInt8]("com".as_bytes()))
    return labels^


def _query(labels: Labels, type: UInt16, id: UInt16) raises -> List[UInt8]:
    var text = List[UInt8]()
    for label in labels:
        text.extend(Span(label))
        text.append(46)
    try:
        return write_query(StringSlice(unsafe_from_utf8=Span(text)), type, id)
    except e:
        raise Error("the query is refused: ", e)


def _draw_ttl(mut random: Random) -> Int:
    return random.pick([0, 1, 60, 300, 3600, 86400, 0x7FFFFFFF])


def _write_fixed(mut writer: Writer, type: Int, ttl: Int):
    writer.number(type, 2)
    writer.number(1, 2)
    writer.number(ttl, 4)


def _write_distractor(mut writer: Writer, name: Labels, mut random: Random):
    # A record that changes nothing: of another type, class or owner.
    var kind = random.below(3)
    if kind == 0:
        writer.name(name, random)
        _write_fixed(writer, 16, 1)
    elif kind == 1:
        writer.name(name, random)
        writer.number(1, 2)
        writer.number(3, 2)
        writer.number(1, 4)
    else:
        writer.name([List[UInt8]("other".as_bytes())], random)
        _write_fixed(writer, 1, 1)
        writer.number(4, 2)
        writer.number(0x7F000001, 4)
        return
    var length = random.below(8)
    writer.number(length, 2)
    for _ in range(length):
        writer.octets.append(random.octet())


def _write_chain(
    mut writer: Writer,
    chain: List[Labels],
    mut ttl: Int,
    mut random: Random,
) -> Int:
    var count = 0
    var backwards = random.chance(30)
    for i in range(len(chain) - 1):
        var link = len(chain) - 2 - i if backwards else i
        if random.chance(20):
            _write_distractor(writer, chain[link], random)
            count += 1
        var own = _draw_ttl(random)
        ttl = min(ttl, own)
        writer.name(chain[link], random)
        _write_fixed(writer, 5, own)
        var length_at = len(writer.octets)
        writer.number(0, 2)
        writer.name(chain[link + 1], random)
        writer.set_number(length_at, len(writer.octets) - length_at - 2)
        count += 1
    return count


def _write_addresses(
    mut writer: Writer,
    name: Labels,
    type: UInt16,
    mut ttl: Int,
    mut verdict: Verdict,
    mut random: Random,
) -> Int:
    var count = random.between(1, 5)
    var length = 4 if type == RecordType.A else 16
    for _ in range(count):
        var own = _draw_ttl(random)
        ttl = min(ttl, own)
        writer.name(name, random)
        _write_fixed(writer, Int(type), own)
        writer.number(length, 2)
        var address = Address(0)
        for i in range(length):
            address[i] = random.octet()
            writer.octets.append(address[i])
        verdict.addresses.append(address)
    return count


def _write_soa(mut writer: Writer, name: Labels, mut random: Random) -> Int:
    var own = _draw_ttl(random)
    var minimum = _draw_ttl(random)
    writer.name(Labels(Span(name)[1:]), random)
    _write_fixed(writer, 6, own)
    var length_at = len(writer.octets)
    writer.number(0, 2)
    writer.name([List[UInt8]("ns".as_bytes())], random)
    writer.name([List[UInt8]("root".as_bytes())], random)
    for _ in range(4):
        writer.number(random.below(100_000), 4)
    writer.number(minimum, 4)
    writer.set_number(length_at, len(writer.octets) - length_at - 2)
    return min(own, minimum)


def _write_options(mut writer: Writer):
    writer.number(0, 1)
    writer.number(41, 2)
    writer.number(1232, 2)
    writer.number(0, 4)
    writer.number(0, 2)
