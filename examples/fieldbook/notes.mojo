"""The JSON API: lists, reads, writes, changes and deletes notes."""

from flare.http import (
    FromFields,
    ProblemDetails,
    Problems,
    QueryOf,
    Validated,
)
from flare.prelude import *

from people import Person
from services import Change, Services

comptime PLACE_OCTETS_MAX = 80
comptime TEXT_OCTETS_MAX = 2000
comptime PAGE_MAX = 100
comptime COLUMNS = "id, author, place, text, picture, written_at"


@fieldwise_init
struct Note(Copyable, ToJson):
    """A note, as a row and as JSON."""

    var id: Int
    var author: String
    var place: String
    var text: String
    var picture: Optional[String]
    """The name of a file below `/pictures/`."""
    var written_at: String


@fieldwise_init
struct Notes(Copyable, ToJson):
    """A page of the list, the latest note first."""

    var notes: List[Note]
    var next: Optional[Int]
    """The `before` of the next page."""


@fieldwise_init
struct Draft(Copyable, FromJson, Validated):
    """The part of a note that a client writes or changes."""

    var place: String
    var text: String

    def validate(self, mut problems: Problems):
        _check(problems, "/place", self.place, PLACE_OCTETS_MAX)
        _check(problems, "/text", self.text, TEXT_OCTETS_MAX)


@fieldwise_init
struct PageQuery(FromFields, Validated):
    """Which part of the list a client asks for."""

    var before: Optional[Int]
    var limit: Optional[Int]

    def validate(self, mut problems: Problems):
        var limit = self.limit.or_else(1)
        problems.require(
            limit >= 1 and limit <= PAGE_MAX, "/limit", "must be 1 to 100"
        )


def list_notes(
    person: Person, services: State[Services], page: QueryOf[PageQuery]
) raises -> Json[Notes]:
    var limit = page.value.limit.or_else(20)
    # One more than asked for shows whether there is another page.
    var notes = services[].database.query[Note](
        "SELECT "
        + COLUMNS
        + " FROM notes WHERE id < $1 ORDER BY id DESC LIMIT $2",
        page.value.before.or_else(Int.MAX),
        limit + 1,
    )
    var next = Optional[Int](None)
    if len(notes) > limit:
        _ = notes.pop()
        next = notes[limit - 1].id
    return Json(Notes(notes^, next))


def read_note(
    person: Person, services: State[Services], id: Path[Int]
) raises -> Response:
    var note = note_of(services[], id.value)
    return Json(note.take()).into_response() if note else no_such_note()


def write_note(
    person: Person, services: State[Services], draft: Json[Draft]
) raises -> Response:
    var note = services[].database.query_one[Note](
        "INSERT INTO notes (author, place, text) VALUES ($1, $2, $3) RETURNING "
        + COLUMNS,
        person.name,
        draft.value.place,
        draft.value.text,
    )
    var json = dumps(note)
    services[].common.counts.notes.add()
    services[].common.changes.send(Change("written", json))
    return created_json(json, location=String("/api/notes/", note.id))


def change_note(
    person: Person,
    services: State[Services],
    id: Path[Int],
    draft: Json[Draft],
) raises -> Response:
    # The statement checks the author, so nothing can happen in between.
    var note = services[].database.query_optional[Note](
        "UPDATE notes SET place = $3, text = $4 WHERE id = $1 AND author = $2"
        " RETURNING "
        + COLUMNS,
        id.value,
        person.name,
        draft.value.place,
        draft.value.text,
    )
    if not note:
        return why_not(services[], id.value)
    services[].common.changes.send(Change("changed", dumps(note.value())))
    return Json(note.take()).into_response()


def note_of(services: Services, id: Int) raises -> Optional[Note]:
    return services.database.query_optional[Note](
        "SELECT " + COLUMNS + " FROM notes WHERE id = $1", id
    )


def why_not(services: Services, id: Int) raises -> Response:
    """Returns the answer if a person has no such note to change."""
    var found = services.database.query_one[Int](
        "SELECT count(*) FROM notes WHERE id = $1", id
    )
    if found == 0:
        return no_such_note()
    return ProblemDetails(
        Status.FORBIDDEN, "only its author may change a note"
    ).into_response()


def no_such_note() raises -> Response:
    return ProblemDetails(
        Status.NOT_FOUND, "there is no such note"
    ).into_response()


def _check(
    mut problems: Problems, pointer: StringSlice, text: String, octets_max: Int
):
    problems.require(not (text.strip() == ""), pointer, "must not be empty")
    problems.require(
        text.byte_length() <= octets_max,
        pointer,
        String("must have at most ", octets_max, " octets"),
    )
    # SQLite would refuse it, and the client get a 500.
    problems.require("\0" not in text, pointer, "must not contain NUL")
