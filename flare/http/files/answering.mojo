"""Answers requests with files: conditions, ranges and content."""

from flare.core import Buffer
from flare.message import FieldName, HeaderMap, Status
from flare.proto.multipart import boundary_of
from flare.sys.clock import unix_seconds
from flare.sys.errno import EACCES, EAGAIN, EMFILE, ENFILE, ENOMEM, EPERM
from flare.sys.folder import FileStatus
from flare.sys.random import fill_random

from ..body import Body
from ..builders import (
    forbidden,
    not_found,
    precondition_failed,
    service_unavailable,
)
from ..conditions import (
    CONDITIONAL_FIELDS,
    ConditionResult,
    evaluate_conditions,
)
from ..encoding.coding import ContentCoding
from ..range_parts import RangeParts
from ..ranges import (
    ByteRange,
    ByteRanges,
    RangeKind,
    content_range,
    range_not_satisfiable,
    select_ranges,
)
from ..request import Request
from ..response import Response
from ..stream_function import StreamFunction
from .file_reading import sibling_path
from .file_stream import FilePart, FileTask, OpenFile
from .root_folder import names_nothing
from .served_file import Representation, ServedFile
from .served_folder import ServedFolder

comptime _BOUNDARY_OCTETS = 16
# A file may be replaced again and again.
comptime _TRIES = 3


@always_inline
def choose_form(folder: ServedFolder, req: Request, file: ServedFile) -> Int:
    """Returns which form of a file a client is to get (RFC 9110 section
    12.5.3).

    Args:
        folder: The folder.
        req: The request.
        file: The file.

    Returns:
        The place of a compressed form that the client accepts, and weighs at
        least as much as any other; or 0.
    """
    if len(file.state[].forms) == 1:
        return 0
    return _choose_coded(folder, req, file)


@no_inline
def _choose_coded(folder: ServedFolder, req: Request, file: ServedFile) -> Int:
    var coding = file.state[].siblings.choose(
        folder.accepted_codings(req.headers)
    )
    ref forms = file.state[].forms
    for i in range(1, len(forms)):
        if forms[i].coding == coding:
            return i
    return 0


@always_inline
def answer_file(
    folder: ServedFolder, req: Request, file: ServedFile, form_index: Int
) raises -> Response:
    """Answers a request with a form of a file.

    Args:
        folder: The folder.
        req: The request, GET or HEAD.
        file: The file.
        form_index: Which of its forms.

    Returns:
        200, 206, 304, 412 or 416; 404 if the file is gone; 503 if too many
        files are being sent.

    Raises:
        An error `http.file` if the file cannot be read any more.
    """
    ref form = file.state[].forms[form_index]
    var known = req.unsafe_exchange()[].head.known
    comptime SPECIAL = CONDITIONAL_FIELDS | FieldName.bit(FieldName.RANGE)
    if known & SPECIAL == 0 and form.content:
        var response = Response(Status.OK, Body(form.content.unsafe_value()))
        response.headers = form.headers.copy()
        return response^
    return _answer(folder, req, file, form_index)


@no_inline
def _answer(
    folder: ServedFolder, req: Request, file: ServedFile, form_index: Int
) raises -> Response:
    var current = file
    var index = form_index
    for _ in range(_TRIES):
        var response = _answer_if_current(folder, req, current, index)
        if response:
            return response.take()
        var found = folder.look_again(current)
        if not found.file:
            return answer_problem(found.problem)
        current = found.file.value()
        index = choose_form(folder, req, current)
    return service_unavailable()


def _answer_if_current(
    folder: ServedFolder, req: Request, file: ServedFile, form_index: Int
) raises -> Optional[Response]:
    """Returns the answer; `None` if another file has taken the place of one
    that would be read while it is sent."""
    ref form = file.state[].forms[form_index]
    var now = unix_seconds()
    var result = evaluate_conditions(
        req.method, req.headers, form.validators, now
    )
    if result == ConditionResult.FAILED:
        return precondition_failed()
    if result == ConditionResult.NOT_MODIFIED:
        var response = Response(Status.NOT_MODIFIED)
        response.headers = form.brief.copy()
        return response^
    var ranges = select_ranges(
        req.method, req.headers, form.validators, form.octets, now
    )
    if ranges.kind == RangeKind.UNSATISFIABLE:
        var response = range_not_satisfiable(form.octets)
        _add_vary(response.headers, form)
        return response^
    if form.content:
        return _from_memory(form, ranges^)
    return _from_disk(folder, req, file, form_index, ranges^)


def _add_vary(mut headers: HeaderMap, form: Representation) raises:
    if "Vary" in form.headers:
        headers.set("Vary", "Accept-Encoding")


def _from_memory(
    form: Representation, var ranges: ByteRanges
) raises -> Response:
    ref content = form.content.value()
    if ranges.kind == RangeKind.WHOLE:
        var response = Response(Status.OK, Body(content))
        response.headers = form.headers.copy()
        return response^
    if len(ranges) == 1:
        var part = ranges[0]
        var response = Response(
            Status.PARTIAL_CONTENT, Body(content[part.start : part.end()])
        )
        _add_range_fields(response.headers, form, part)
        return response^
    var parts = _range_parts(form, ranges^)
    var octets = Buffer(capacity=parts.content_length())
    for i in range(len(parts.ranges)):
        parts.append_head(i, octets)
        var part = parts.ranges[i]
        octets.append(content.octets()[part.start : part.end()])
    parts.append_end(octets)
    var response = Response(Status.PARTIAL_CONTENT, Body(octets.span()))
    _add_parts_fields(response.headers, form, parts)
    return response^


@no_inline
def _from_disk(
    folder: ServedFolder,
    req: Request,
    file: ServedFile,
    form_index: Int,
    var ranges: ByteRanges,
) raises -> Optional[Response]:
    ref form = file.state[].forms[form_index]
    if folder.counters().open_files() >= folder.open_files_max():
        return service_unavailable()
    var opened: Int
    var status = FileStatus()
    if form.coding == ContentCoding.IDENTITY:
        opened = folder.open_file(Span(file.state[].path), status)
    else:
        var path = sibling_path(Span(file.state[].path), form.coding)
        opened = folder.open_file(Span(path), status)
    if opened < 0:
        return answer_problem(opened)
    var source = OpenFile(Int32(opened), folder.counters())
    if status != file.state[].statuses[form.place]:
        return None
    var response = Response(Status.OK)
    var parts = List[FilePart]()
    if ranges.kind == RangeKind.WHOLE:
        response.headers = form.headers.copy()
        response.headers.set("Content-Length", String(form.octets))
        parts.append(FilePart(List[UInt8](), 0, form.octets))
    elif len(ranges) == 1:
        var part = ranges[0]
        response.status = Status.PARTIAL_CONTENT
        _add_range_fields(response.headers, form, part)
        response.headers.set("Content-Length", String(part.octets))
        parts.append(FilePart(List[UInt8](), part.start, part.octets))
    else:
        var several = _range_parts(form, ranges^)
        response.status = Status.PARTIAL_CONTENT
        _add_parts_fields(response.headers, form, several)
        response.headers.set("Content-Length", String(several.content_length()))
        for i in range(len(several.ranges)):
            var head = Buffer()
            several.append_head(i, head)
            var part = several.ranges[i]
            parts.append(
                FilePart(List[UInt8](head.span()), part.start, part.octets)
            )
        var end = Buffer()
        several.append_end(end)
        parts.append(FilePart(List[UInt8](end.span()), 0, 0))
    response.body = Body(stream=StreamFunction(FileTask(source^, parts^)))
    return response^


def _add_range_fields(
    mut headers: HeaderMap, form: Representation, part: ByteRange
) raises:
    headers = form.headers.copy()
    headers.set("Content-Range", content_range(part, form.octets))


def _add_parts_fields(
    mut headers: HeaderMap, form: Representation, parts: RangeParts
) raises:
    headers = form.headers.copy()
    headers.set("Content-Type", parts.content_type())


def _range_parts(
    form: Representation, var ranges: ByteRanges
) raises -> RangeParts:
    var random = Array[UInt8, _BOUNDARY_OCTETS](fill=0)
    _ = fill_random(Span(random))
    return RangeParts(
        ranges^,
        form.octets,
        boundary=boundary_of(Span(random)),
        part_type=form.headers.get("Content-Type").value(),
    )


@no_inline
def answer_problem(problem: Int) raises -> Response:
    """Answers a request for a file that cannot be opened.

    Args:
        problem: The negated errno.

    Returns:
        404 if there is no such file, and 403 if it may not be read. 503 if
        memory or descriptors run out, or if the folder changes all the time.

    Raises:
        An error `http.file` for another problem, such as a broken disk.
    """
    if names_nothing(problem):
        return not_found()
    if problem == -EACCES or problem == -EPERM:
        return forbidden()
    if (
        problem == -EMFILE
        or problem == -ENFILE
        or problem == -ENOMEM
        or problem == -EAGAIN
    ):
        return service_unavailable()
    raise Error("http.file cannot be opened errno=", -problem)
