"""Stores and serves a picture for each note."""

from std.os import remove

from flare.http import ProblemDetails
from flare.prelude import *
from flare.runtime import blocking

from notes import no_such_note, note_of, why_not
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
    comptime find = "SELECT picture FROM notes WHERE id = $1 AND author = $2"
    ref database = services[].database
    # A client that may not change the note need not send megabytes first.
    if not database.query_optional[Former](find, id.value, person.name):
        return why_not(services[], id.value)
    var octets = _read_picture(req)
    var suffix = suffix_of(octets)
    if suffix == "":
        return ProblemDetails(
            Status.UNSUPPORTED_MEDIA_TYPE,
            "the part `picture` is to be PNG, JPEG or WebP",
        ).into_response()
    # A name of the program's own: that of the client could be a path.
    var name = database.query_one[String]("SELECT lower(hex(randomblob(16)))")
    name += suffix
    _write_file(_path(services, name), octets^)
    var former = Optional[Former](None)
    with database.transaction() as tx:
        former = tx.query_optional[Former](find, id.value, person.name)
        _ = tx.execute(
            "UPDATE notes SET picture = $3 WHERE id = $1 AND author = $2",
            id.value,
            person.name,
            name,
        )
    if not former:
        # The note was deleted meanwhile.
        remove(_path(services, name))
        return no_such_note()
    if former.value().picture:
        remove(_path(services, former.value().picture.value()))
    var note = note_of(services[], id.value)
    if note:
        services[].common.changes.send(Change("changed", dumps(note.value())))
    return no_content()


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
        remove(_path(services, former.value().picture.value()))
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


def _read_picture(req: Request) raises -> List[UInt8]:
    """Returns the content of the file `picture`, empty if there is none."""
    # With room for the heads of the parts. Longer content gets 413.
    req.body.set_octets_max(PICTURE_OCTETS_MAX + 4096)
    var parts = req.multipart()
    while True:
        var part = parts.next_part()
        if not part:
            return []
        if part.value().name == "picture" and part.value().is_file():
            return parts.octets(PICTURE_OCTETS_MAX)


def _path(services: State[Services], name: String) -> String:
    return String(services[].common.data, "/pictures/", name)


def _write_file(path: String, var octets: List[UInt8]) raises:
    # On a helper thread: a slow disk stops no other request.
    def write() raises {var path, var octets^}:
        with open(path, "w") as file:
            file.write_bytes(octets)

    blocking(write^)
