"""Stores and serves a picture for each note."""

from std.os import remove

from flare.http import ProblemDetails
from flare.prelude import *
from flare.runtime import blocking

from notes import COLUMNS, Note, why_not
from people import Person
from services import Change, Services

comptime PICTURE_OCTETS_MAX = 5 << 20


@fieldwise_init
struct Former(Movable):
    """The picture that a note has so far."""

    var picture: Optional[String]


def store_picture(
    person: Person, req: Request, services: State[Services], id: Path[Int]
) raises -> Response:
    # Who may not change the note need not send megabytes first.
    var former = services[].database.query_optional[Former](
        "SELECT picture FROM notes WHERE id = $1 AND author = $2",
        id.value,
        person.name,
    )
    if not former:
        return why_not(services[], id.value)
    # With room for the heads of the parts. Longer content gets 413.
    req.body.set_octets_max(PICTURE_OCTETS_MAX + 4096)
    var octets = _read_picture(req)
    if not octets:
        return ProblemDetails(
            Status.BAD_REQUEST, "the form has no file `picture`"
        ).into_response()
    var suffix = suffix_of(octets.value())
    if suffix == "":
        return ProblemDetails(
            Status.UNSUPPORTED_MEDIA_TYPE,
            "a picture is PNG, JPEG or WebP",
        ).into_response()
    # A name of the program's own: that of the client could be a path.
    var name = services[].database.query_one[String](
        "SELECT lower(hex(randomblob(16)))"
    )
    name += suffix
    var folder = services[].common.data + "/pictures/"
    _write_file(folder + name, octets.take())
    var note = services[].database.query_optional[Note](
        "UPDATE notes SET picture = $3 WHERE id = $1 AND author = $2 RETURNING "
        + COLUMNS,
        id.value,
        person.name,
        name,
    )
    if not note:
        # It was deleted meanwhile.
        remove(folder + name)
        return why_not(services[], id.value)
    if former.value().picture:
        remove(folder + former.value().picture.value())
    services[].common.counts.pictures.add()
    services[].common.changes.send(Change("changed", dumps(note.value())))
    return Json(note.take()).into_response()


def show_picture(
    person: Person, req: Request, services: State[Services], name: Path[String]
) raises -> Response:
    var response = services[].common.pictures.respond(req, name.value)
    # Another picture gets another name.
    response.headers.set("Cache-Control", "private, max-age=86400, immutable")
    return response^


def delete_note(
    person: Person, services: State[Services], id: Path[Int]
) raises -> Response:
    var former = services[].database.query_optional[Former](
        "DELETE FROM notes WHERE id = $1 AND author = $2 RETURNING picture",
        id.value,
        person.name,
    )
    if not former:
        return why_not(services[], id.value)
    if former.value().picture:
        var folder = services[].common.data + "/pictures/"
        remove(folder + former.value().picture.value())
    services[].common.changes.send(Change("deleted", String(id.value)))
    return no_content()


def suffix_of(octets: List[UInt8]) -> StaticString:
    """Returns the suffix of a file name, by the first octets of the content.
    The media type that a client states may be anything."""
    var head = String()
    for i in range(min(len(octets), 12)):
        head += chr(Int(octets[i]))
    if head.startswith("\x89PNG\r\n\x1a\n"):
        return ".png"
    if head.startswith("\xff\xd8\xff"):
        return ".jpg"
    if head.startswith("RIFF") and head.endswith("WEBP"):
        return ".webp"
    return ""


def _read_picture(req: Request) raises -> Optional[List[UInt8]]:
    var parts = req.multipart()
    while True:
        var part = parts.next_part()
        if not part:
            return None
        if part.value().name == "picture" and part.value().is_file():
            return parts.octets(PICTURE_OCTETS_MAX)


def _write_file(path: String, var octets: List[UInt8]) raises:
    var own_path = path

    # On a helper thread: a slow disk stops no other request.
    def write() raises {var own_path^, var octets^}:
        with open(own_path, "w") as file:
            file.write_bytes(octets)

    blocking(write^)
