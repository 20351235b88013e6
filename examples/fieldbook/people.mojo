"""Signs people in and out, and tells handlers who asks."""

from flare.http import (
    Extractor,
    FnHandler,
    Limit,
    ProblemDetails,
    RateKeys,
    RateLimit,
    RateLimitConfig,
)
from flare.prelude import *
from flare.session import Session, hash_password, matches_password
from flare.sqlite import Database

from pages import sign_in_page
from services import Services

comptime NAME_OCTETS_MAX = 40
comptime PASSWORD_OCTETS_MIN = 10
comptime PASSWORD_OCTETS_MAX = 200


struct Visit(Defaultable, FromJson, ToJson):
    """The data of a session."""

    var person: Optional[String]

    def __init__(out self):
        self.person = None


@fieldwise_init
struct Person(Extractor):
    """The person who has signed in. Others get 401."""

    comptime PATH_PARAMETERS: Int = 0

    var name: String

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        var session = Session[Visit].of(req)
        if not session[].person:
            raise Error(ProblemDetails(Status.UNAUTHORIZED, "sign in first"))
        return Self(session[].person.value())


def add_person(database: Database, name: String, password: String) raises:
    """Adds a person, or changes their password."""
    if name == "" or name.byte_length() > NAME_OCTETS_MAX:
        raise Error("a name has 1 to 40 octets")
    var length = password.byte_length()
    if length < PASSWORD_OCTETS_MIN or length > PASSWORD_OCTETS_MAX:
        raise Error("a password has 10 to 200 octets")
    _ = database.execute(
        (
            "INSERT INTO people VALUES ($1, $2) ON CONFLICT (name)"
            " DO UPDATE SET password = excluded.password"
        ),
        name,
        hash_password(password),
    )


def sign_in(req: Request) raises -> Response:
    var form = req.form()
    var name = form.get("name").or_else("")
    var password = form.get("password").or_else("")
    if (
        "\0" in name
        or name.byte_length() > NAME_OCTETS_MAX
        or password.byte_length() > PASSWORD_OCTETS_MAX
    ):
        return bad_request("no such name or password can be")
    ref services = State[Services].of(req)[]
    var stored = services.database.query_optional[String](
        "SELECT password FROM people WHERE name = $1", name
    )
    # An unknown name takes as long as a wrong password.
    if not matches_password(password, stored):
        services.common.counts.wrong_passwords.add()
        return sign_in_page(name, "Name or password are wrong.").with_status(
            Status.FORBIDDEN
        )
    var session = Session[Visit].of(req)
    # Another id, so that one from before the sign-in is worth nothing.
    session.renew()
    session[].person = name
    services.common.counts.sign_ins.add()
    return redirect("/", Status.SEE_OTHER)


def sign_out(session: Session[Visit]) raises -> Response:
    session.destroy()
    return redirect("/", Status.SEE_OTHER)


def by_name(req: Request, keys: RateKeys) raises -> Optional[UInt64]:
    """Counts attempts for a name, from all addresses."""
    return keys.of(req.form().get("name").or_else(""))


def guarded_sign_in() raises -> Limit[RateLimit[RateLimit[FnHandler]]]:
    """Returns the handler that signs in, with limits against guessing."""
    var of_name = RateLimit(
        FnHandler(sign_in),
        RateLimitConfig(
            requests=10, window_seconds=600, key=by_name, is_exact=True
        ),
    )
    # Each attempt costs 0.2 s of a processor. Behind a proxy, all clients share
    # this limit.
    var of_client = RateLimit(
        of_name^, RateLimitConfig(requests=60, is_exact=True)
    )
    return Limit(of_client^, body_octets=4096)
