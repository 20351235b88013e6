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
    # A path that leads out of the folder gets 404.
    return services[].common.pictures.respond(req, name.value)


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
    if _has(octets, 0, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]):
        return ".png"
    if _has(octets, 0, [0xFF, 0xD8, 0xFF]):
        return ".jpg"
    # RIFF, a length, WEBP.
    if _has(octets, 0, [0x52, 0x49, 0x46, 0x46]) and _has(
        octets, 8, [0x57, 0x45, 0x42, 0x50]
    ):
        return ".webp"
    return ""


def _has(octets: List[UInt8], start: Int, wanted: List[UInt8]) -> Bool:
    if len(octets) < start + len(wanted):
        return False
    for i in range(len(wanted)):
        if octets[start + i] != wanted[i]:
            return False
    return True


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
