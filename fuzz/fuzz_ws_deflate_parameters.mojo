"""Compression is agreed on as RFC 7692 allows, and as both ends understand it.

Invariant: a server accepts the first offer that a plain judge of the parameters
finds acceptable, and answers as the judge does. The client that made the offer
accepts the answer. Any octets yield an answer or a refusal, and an answer to
any octets is one that a client understands.
"""

from flare.message import HeaderMap
from flare.proto.ws import (
    OFFERS_MAX,
    DeflateParameters,
    DeflatePolicy,
    choose_deflate,
    read_deflate_response,
)

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _FIELD: StaticString = "Sec-WebSocket-Extensions"
comptime _NAMES: List[StaticString] = [
    "server_no_context_takeover",
    "client_no_context_takeover",
    "server_max_window_bits",
    "client_max_window_bits",
    "unknown",
]
comptime _VALUES: List[StaticString] = [
    "8",
    "9",
    "10",
    "12",
    "14",
    "15",
    "7",
    "16",
    "08",
    "1",
    "151",
    "a",
]
comptime _LEGAL: List[StaticString] = [
    "8",
    "9",
    "10",
    "11",
    "12",
    "13",
    "14",
    "15",
]


def fuzz_ws_deflate_parameters(
    mut random: Random, mut histogram: Histogram
) raises:
    """Negotiates once, with an intact or a damaged list.

    Args:
        random: Draws the offers and the policy.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var policy = DeflatePolicy.shared()
    if random.chance(60):
        policy = DeflatePolicy.dedicated(UInt8(random.between(9, 15)))
    var offers = List[Offer]()
    for _ in range(random.between(1, 4)):
        offers.append(Offer(random))
    if random.chance(3):
        for _ in range(random.between(12, 14)):
            offers.append(Offer(random))
    var fields = HeaderMap()
    var line = String()
    for i in range(len(offers)):
        if i > 0 and random.chance(20):
            fields.append(_FIELD, line)
            line = String()
        elif i > 0:
            line += random.pick[StaticString]([",", ", ", " ,\t, "])
        line += offers[i].text
    if random.chance(30):
        _check_damaged(line, policy, random, histogram)
        return
    histogram.input(line.as_bytes())
    fields.append(_FIELD, line)
    var answer = _answer_of(fields, policy)
    if len(offers) > OFFERS_MAX:
        if answer != "refused":
            raise Error("more offers than there may be: ", answer)
        histogram.count("too many")
        return
    for offer in offers:
        var expected = offer.answer(policy)
        if expected == "":
            continue
        if answer != expected:
            raise Error("answered ", answer, " and not ", expected)
        _check_client(offer, answer)
        histogram.count_whole("accepted")
        return
    if answer != "":
        raise Error("answered ", answer, " to no acceptable offer")
    histogram.count_whole("declined")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_ws_deflate_parameters)


struct Offer(Copyable, Movable):
    """Holds an offer as it is drawn: its parameters, and its text."""

    var names: List[String]
    """The names."""
    var values: List[String]
    """The values; empty if a name has none."""
    var text: String
    """The offer on the wire."""
    var is_deflate: Bool
    """Whether its extension is the one that is known."""

    def __init__(out self, mut random: Random):
        """Draws an offer.

        Args:
            random: Draws it.
        """
        self.names = []
        self.values = []
        self.is_deflate = random.chance(90)
        self.text = String("permessage-deflate")
        if not self.is_deflate:
            self.text = String("permessage-deflat")
        for _ in range(random.below(4)):
            var name = materialize[_NAMES]()[random.below(4)]
            if random.chance(5):
                name = materialize[_NAMES]()[4]
            var has_value = name.find("bits") >= 0
            if random.chance(10):
                has_value = not has_value
            var value = String()
            if has_value:
                var most = 6 if random.chance(85) else 12
                value = String(materialize[_VALUES]()[random.below(most)])
            self.names.append(String(name))
            self.values.append(value)
            self.text += random.pick[StaticString]([";", "; ", " ;\t"])
            self.text += name
            if has_value and random.chance(20):
                self.text += String('="', value, '"')
            elif has_value:
                self.text += String("=", value)

    def value_of(self, name: StringSlice) -> String:
        """Finds a parameter.

        Args:
            name: Its name.

        Returns:
            `none`, or the value.
        """
        for i in range(len(self.names)):
            if self.names[i] == name:
                return self.values[i]
        return "none"

    def is_legal(self) -> Bool:
        """Judges the parameters one by one.

        Returns:
            False if a name is unknown or repeated, or a value is wrong.
        """
        for i in range(len(self.names)):
            for k in range(i):
                if self.names[i] == self.names[k]:
                    return False
            ref value = self.values[i]
            var is_number = False
            for legal in materialize[_LEGAL]():
                is_number = is_number or value == legal
            var is_right = value == ""
            if self.names[i] == "server_max_window_bits":
                is_right = is_number
            elif self.names[i] == "client_max_window_bits":
                is_right = is_number or value == ""
            elif self.names[i] == "unknown":
                is_right = False
            if not is_right:
                return False
        return True

    def answer(self, policy: DeflatePolicy) raises -> String:
        """Answers as a server should.

        Args:
            policy: The server's.

        Returns:
            The text; empty if it declines.

        Raises:
            Error: If a number cannot be read.
        """
        if not self.is_deflate or not self.is_legal():
            return ""
        var own = Int(policy.window_bits)
        var server = self.value_of("server_max_window_bits")
        var bits = own
        if server != "none" and Int(server) < own:
            bits = Int(server)
            if bits == 8:
                return ""
        var text = String("permessage-deflate")
        for name in [
            "server_no_context_takeover",
            "client_no_context_takeover",
        ]:
            if policy.no_context_takeover or self.value_of(name) != "none":
                text += String("; ", name)
        if server != "none" or bits < 15:
            text += String("; server_max_window_bits=", bits)
        var client = self.value_of("client_max_window_bits")
        if client == "":
            client = "15"
        if client != "none" and min(Int(client), own) < 15:
            text += String("; client_max_window_bits=", min(Int(client), own))
        return text^


def _answer_of(fields: HeaderMap, policy: DeflatePolicy) -> String:
    try:
        var chosen = choose_deflate(fields.view(), policy)
        return String(chosen.value()) if chosen else String()
    except e:
        return "refused" if e.status == 400 else "refused otherwise"


def _verdict_on(answer: String, offer: DeflateParameters) raises -> String:
    var fields = HeaderMap()
    fields.append(_FIELD, answer)
    var agreed: String
    try:
        agreed = String(read_deflate_response(fields.view(), [offer]).value())
    except e:
        agreed = String(e)
    return agreed^


def _check_client(offer: Offer, answer: String) raises:
    var made = DeflateParameters(client_window_bits=None)
    made.server_no_context_takeover = (
        offer.value_of("server_no_context_takeover") != "none"
    )
    made.client_no_context_takeover = (
        offer.value_of("client_no_context_takeover") != "none"
    )
    var bits = offer.value_of("server_max_window_bits")
    if bits != "none":
        made.server_window_bits = UInt8(Int(bits))
    bits = offer.value_of("client_max_window_bits")
    if bits != "none":
        made.client_window_bits = UInt8(15 if bits == "" else Int(bits))
    var verdict = _verdict_on(answer, made)
    if verdict != answer:
        raise Error("the client says ", verdict, " to ", answer)
    # An answer that asks more than was offered is none.
    if not made.client_window_bits:
        verdict = _verdict_on(
            String(answer, "; client_max_window_bits=10"), made
        )
        if verdict.find("do not answer") < 0:
            raise Error("the client accepts ", verdict)


def _check_damaged(
    line: String,
    policy: DeflatePolicy,
    mut random: Random,
    mut histogram: Histogram,
) raises:
    var octets = mutate(line.as_bytes(), random)
    histogram.input(Span(octets))
    var fields = HeaderMap()
    try:
        fields.append(_FIELD, StringSlice(unsafe_from_utf8=Span(octets)))
    except:
        histogram.count("no field value")
        return
    var answer = _answer_of(fields, policy)
    histogram.count(
        "damaged: " + ("refused" if answer == "refused" else "read")
    )
    if answer == "" or answer == "refused":
        return
    if _verdict_on(answer, DeflateParameters()) != answer:
        raise Error("no client understands ", answer)
