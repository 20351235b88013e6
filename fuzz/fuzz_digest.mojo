"""The challenge that is answered is the one meant, and its answer says what the RFC asks.

Invariant: of challenges written from a model, in any dress and among those of
other schemes, the strongest that can be answered is taken, and holds what the
model says; the answers to it, read by a strict reader, hold what the model, the
account and the request say, count up, and prove the password by the formulas of
RFC 7616. Whatever octets a field has, no answer has a control octet, or a
quotation mark that is not escaped.
"""

from flare.http.client.credentials.digest import (
    DigestAccount,
    DigestAlgorithm,
    DigestChallenge,
    DigestSession,
    digest_challenge,
)
from flare.message import FieldLine, FieldSection

from fuzz.digest_model import (
    ChallengeModel,
    Octets,
    Parameter,
    draw_other_challenge,
    read_answer,
    write_divider,
)
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate


def fuzz_digest(mut random: Random, mut histogram: Histogram) raises:
    """Takes the challenges of one or two responses, and answers them.

    Args:
        random: Draws and damages them.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var session = DigestSession(
        DigestAccount(_draw_text(random), _draw_text(random))
    )
    if random.chance(30):
        return _check_any(session, random, histogram)
    var known = _Counted()
    for _ in range(random.between(1, 2)):
        var fields = _Fields()
        var best = Optional[ChallengeModel](None)
        for model in _draw_response(fields, known.nonce, random):
            if model.can_be_answered() and (
                not best or model.strength() > best.value().strength()
            ):
                best = model.copy()
        histogram.input(Span(fields.octets))
        var found = digest_challenge(fields.view())
        if Bool(found) != Bool(best):
            raise Error("found: ", Bool(found), ", and is: ", Bool(best))
        if not best:
            histogram.count_whole("none can be answered")
            continue
        _compare(found.value(), best.value())
        session.take(found.take())
        _check_answers(session, best.value(), known, random)
        histogram.count_whole("answered")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_digest)


struct _Counted:
    # The nonce that was answered last, how often, and the client nonce shown.
    var nonce: Optional[Octets]
    var count: Int
    var client_nonce: String

    def __init__(out self):
        self.nonce = None
        self.count = 0
        self.client_nonce = String()


struct _Fields(Movable):
    # Unlike a `HeaderMap`, it holds any octets.
    var octets: Octets
    var lines: List[FieldLine]

    def __init__(out self):
        self.octets = Octets()
        self.lines = []

    def append(mut self, name: StaticString, value: Octets):
        self.octets.extend(name.as_bytes())
        self.octets.append(58)
        var start = len(self.octets)
        self.octets.extend(Span(value))
        self.octets.append(10)
        self.lines.append(
            FieldLine(
                UInt32(start - 1 - name.byte_length()),
                UInt32(name.byte_length()),
                UInt32(start),
                UInt32(len(value)),
            )
        )

    def view(self) -> FieldSection[origin_of(self)]:
        return FieldSection[origin_of(self)](
            Span[UInt8, origin_of(self)](
                unsafe_ptr=self.octets.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[origin_of(self)](),
                length=len(self.octets),
            ),
            Span[FieldLine, origin_of(self)](
                unsafe_ptr=self.lines.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[origin_of(self)](),
                length=len(self.lines),
            ),
        )


def _draw_text(mut random: Random) -> String:
    var octets = random.octets_of('abcXYZ019"\\ :,=', random.below(10))
    if random.chance(10):
        octets.extend("é".as_bytes())
    return String(from_utf8_lossy=Span(octets))


def _draw_response(
    mut fields: _Fields, known: Optional[Octets], mut random: Random
) -> List[ChallengeModel]:
    var models = List[ChallengeModel]()
    for _ in range(random.between(1, 2)):
        if random.chance(20):
            fields.append(
                "Proxy-Authenticate",
                Octets('Digest realm="proxy", nonce="theirs"'.as_bytes()),
            )
        var value = Octets()
        for i in range(random.between(1, 3)):
            if i > 0:
                write_divider(value, random)
            if random.chance(35):
                value.extend(draw_other_challenge(random).as_bytes())
                continue
            var model = ChallengeModel(random)
            if known and model.is_text and random.chance(20):
                model.nonce = known.copy()
            model.write(value, random)
            models.append(model^)
        fields.append(
            random.pick(
                [
                    StaticString("WWW-Authenticate"),
                    "www-authenticate",
                    "Www-Authenticate",
                ]
            ),
            value,
        )
    return models^


def _compare(found: DigestChallenge, model: ChallengeModel) raises:
    if found.realm != _text(model.realm):
        raise Error("another realm: ", found.realm)
    if found.nonce != _text(model.nonce):
        raise Error("another nonce: ", found.nonce)
    if found.opaque.or_else("") != _text(model.opaque):
        raise Error("another opaque")
    if Bool(found.opaque) != Bool(model.opaque):
        raise Error("an opaque or none")
    if (found.algorithm == DigestAlgorithm.SHA256) != (model.strength() == 2):
        raise Error("another algorithm: ", found.algorithm)
    if found.is_session != model.is_session():
        raise Error("a session or none")
    if found.knows_qop != Bool(model.qop):
        raise Error("a qop or none")
    if found.is_stale != (model.stale.or_else("").lower() == "true"):
        raise Error("stale or not")
    if found.hides_user != (model.userhash.or_else("").lower() == "true"):
        raise Error("hides users or not")


def _check_answers(
    mut session: DigestSession,
    model: ChallengeModel,
    mut known: _Counted,
    mut random: Random,
) raises:
    var skipped = random.pick([0, 0, 0, 8, 15, 254, 4095, 1_000_000])
    if not known.nonce or known.nonce.value() != model.nonce.value():
        known = _Counted()
        known.nonce = model.nonce.copy()
    for i in range(random.between(1, 3)):
        var method = random.pick([String("GET"), "POST", "M-SEARCH"])
        var target = random.pick([String("/"), "/a?b=c", '/"\\', "*"])
        var client_nonce = String("n", random.below(1000), "=/")
        var answer = read_answer(
            session.authorization(method, target, client_nonce)
        )
        known.count += 1
        # The secret of a session is that of its first answer; who keeps no
        # session computes it from each answer anew.
        if known.count == 1 or not model.is_session():
            known.client_nonce = client_nonce
        var wanted = _answer(
            model,
            session.account,
            [method, target, known.client_nonce, _hex8(known.count)],
        )
        _compare_answers(answer, wanted)
        if i == 0:
            session.uses += skipped
            known.count += skipped


def _answer(
    model: ChallengeModel, account: DigestAccount, request: List[String]
) raises -> List[Parameter]:
    # The request: method, target, client nonce, nonce count.
    var realm = _text(model.realm)
    var nonce = _text(model.nonce)
    var secret = model.digest([account.user, realm, account.password])
    if model.is_session():
        secret = model.digest([secret, nonce, request[2]])
    var asked = model.digest([request[0], request[1]])
    var response = model.digest([secret, nonce, asked])
    if model.qop:
        response = model.digest(
            [secret, nonce, request[3], request[2], String("auth"), asked]
        )
    var hides_user = model.userhash.or_else("").lower() == "true"
    var user = account.user
    if hides_user:
        user = model.digest([account.user, realm])
    var wanted: List[Parameter] = [
        Parameter("username", user, True),
        Parameter("realm", realm, True),
        Parameter("nonce", nonce, True),
        Parameter("uri", request[1], True),
        Parameter("response", response, True),
        Parameter("algorithm", String(model.algorithm.or_else("MD5")), False),
    ]
    if model.qop:
        wanted.append(Parameter("qop", "auth", False))
        wanted.append(Parameter("nc", request[3], False))
    if model.qop or model.is_session():
        wanted.append(Parameter("cnonce", request[2], True))
    if model.opaque:
        wanted.append(Parameter("opaque", _text(model.opaque), True))
    if hides_user:
        wanted.append(Parameter("userhash", "true", False))
    return wanted^


def _compare_answers(answer: List[Parameter], wanted: List[Parameter]) raises:
    if len(answer) != len(wanted):
        raise Error(len(answer), " parameters, and not ", len(wanted))
    for parameter in wanted:
        var is_found = False
        for other in answer:
            if other.name != parameter.name:
                continue
            is_found = True
            if other.is_quoted != parameter.is_quoted:
                raise Error("quotation marks: ", other.name)
            if other.value != parameter.value:
                raise Error(other.name, " is ", other.value)
        if not is_found:
            raise Error(parameter.name, " is missing")


def _check_any(
    mut session: DigestSession, mut random: Random, mut histogram: Histogram
) raises:
    var whole = _Fields()
    _ = _draw_response(whole, None, random)
    var octets = mutate(Span(whole.octets), random)
    if random.chance(5):
        octets = random.octets(random.below(60))
    var fields = _Fields()
    fields.append("WWW-Authenticate", octets)
    histogram.input(Span(octets))
    var found = digest_challenge(fields.view())
    if not found:
        return histogram.count("damaged: none")
    ref challenge = found.value()
    if challenge.nonce.byte_length() == 0 or not challenge.can_be_answered:
        raise Error("it cannot be answered")
    var realm = challenge.realm
    var nonce = challenge.nonce
    session.take(challenge.copy())
    for parameter in read_answer(session.authorization("GET", "/", "x")):
        if parameter.name == "realm" and parameter.value != realm:
            raise Error("another realm is sent")
        if parameter.name == "nonce" and parameter.value != nonce:
            raise Error("another nonce is sent")
    histogram.count("damaged: answered")


def _text(octets: Optional[Octets]) raises -> String:
    if not octets:
        return String()
    return String(StringSlice(from_utf8=Span(octets.value())))


def _hex8(number: Int) -> String:
    var text = String()
    var rest = number
    for _ in range(8):
        text = String("0123456789abcdef"[byte=rest % 16], text)
        rest //= 16
    return text^
