"""Defines a handler that serves the files of a folder."""

from flare.core import OctetSet, find_octet
from flare.message import Method, Status, percent_encode
from flare.sys.errno import ENOENT

from ..builders import method_not_allowed, redirect
from ..handler import Handler
from ..request import Request
from ..response import Response
from .answering import answer_file, answer_problem, choose_form
from .attachment import attachment
from .compressed_forms import FileCompression
from .file_counters import FileStatistics
from .file_reading import FileReader
from .found_file import FoundFile
from .media_types import MediaTypes
from .options import FileOptions
from .rules import CacheRule, FileRules
from .served_folder import ServedFolder

comptime _SLASH: UInt8 = 47
comptime _DOT: UInt8 = 46
# The octets that stand for themselves in a path.
comptime _PLAIN = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
)


struct StaticFiles(Handler):
    """Serves the files of a folder, and of the folders in it.

    The last parameter of the route is the path of the file; without parameters,
    the whole path of the request is. `router.get("/assets/*path",
    StaticFiles("public"))` serves `public/css/site.css` at
    `/assets/css/site.css`.

    Files of up to 1 MiB are kept in memory, and looked at again after 100 ms.
    Longer ones are read while they are sent. Symbolic links that lead out of
    the folder, names that begin with a dot, and everything that is no regular
    file get 404. Conditions and ranges (RFC 9110 sections 13 and 14) are
    evaluated.
    """

    var _folder: ServedFolder
    # Escaped, as the path of a request is.
    var _spa_fallback: String

    def __init__(
        out self,
        root: StringSlice,
        *,
        precompressed: Bool = False,
        var cache_control: List[CacheRule] = [],
        spa_fallback: StringSlice = "",
        options: FileOptions = FileOptions(),
    ) raises:
        """Creates a handler for the files of a folder.

        Args:
            root: The path of the folder. A relative one starts at the current
                folder of the process.
            precompressed: Whether `app.js.br`, `app.js.zst` or `app.js.gz` is
                sent for `app.js` to clients that accept it. One that is older
                than the file is not sent.
            cache_control: The rules for Cache-Control; the first that applies
                counts. Without one, the field is not sent, and clients decide.
            spa_fallback: The path of the file that is sent in place of 404 to
                a browser that asks for HTML. It stands for pages that scripts
                make. A path whose last segment has an extension is no page.
                Empty for none.
            options: The limits and further choices.

        Raises:
            An error `http.bad_folder` if the path leads to no folder that can
            be read, or if an option is out of its bounds.
        """
        if options.first_problem():
            raise Error("http.bad_folder ", options.first_problem().value())
        if "\0" in root:
            raise Error("http.bad_folder the path has a NUL")
        var rules = FileRules()
        rules.precompressed = precompressed
        if options.compress_cached:
            rules.compression = FileCompression(
                min(options.cache_octets // 4, options.largest_cached)
            )
        rules.immutable_hashed = options.immutable_hashed
        rules.cache_control = cache_control^
        rules.types = MediaTypes(options.extra_types)
        self._folder = ServedFolder.create(
            root, FileReader(rules^, options.largest_cached), options
        )
        self._spa_fallback = _escaped(spa_fallback)
        var problem = self._folder.open()
        if problem < 0:
            raise Error("http.bad_folder cannot be read errno=", -problem)

    def __init__(out self, *, copy: Self):
        """Copies the handler for another worker. The copies share the files
        that are kept in memory.

        Args:
            copy: The handler to copy.
        """
        self._folder = copy._folder.duplicate()
        self._spa_fallback = copy._spa_fallback.copy()

    def __init__(out self, *, deinit move: Self):
        """Moves the handler.

        Args:
            move: The handler to move.
        """
        self._folder = move._folder
        self._spa_fallback = move._spa_fallback^

    def __deinit__(deinit self):
        """Closes the folder."""
        self._folder.destroy()

    def serve(self, req: Request) raises -> Response:
        """Answers a request with a file.

        Args:
            req: The request.

        Returns:
            The answer: 200, 206 and 304 with a file, 308 for a folder without
            `/` at its end, and the usual refusals.

        Raises:
            An error `http.file` if the file cannot be read.
        """
        if req.method != Method.GET and req.method != Method.HEAD:
            return method_not_allowed("GET, HEAD")
        var found = self._folder.find(_file_path(req))
        if found.file:
            ref file = found.file.unsafe_value()
            return answer_file(
                self._folder, req, file, choose_form(self._folder, req, file)
            )
        return self._answer_without_file(req, found^)

    def respond(
        self,
        req: Request,
        path: StringSlice,
        *,
        download_name: StringSlice = "",
    ) raises -> Response:
        """Answers a request with a file that the handler has chosen.

        Conditions, ranges, the cache and the rules apply as in `serve`. A path
        that leads out of the folder gets 404, so it may come from a client.

        Args:
            req: The request.
            path: The path below the folder, without escapes.
            download_name: The name under which a browser saves the file (RFC
                6266). Empty if it may show the file.

        Returns:
            The answer.

        Raises:
            An error `http.file` if the file cannot be read.
        """
        if req.method != Method.GET and req.method != Method.HEAD:
            return method_not_allowed("GET, HEAD")
        var found = self._folder.find(_escaped(path).as_bytes())
        if not found.file:
            return answer_problem(
                -ENOENT if found.is_folder() else found.problem
            )
        ref file = found.file.unsafe_value()
        var response = answer_file(
            self._folder, req, file, choose_form(self._folder, req, file)
        )
        var has_content = Status.OK <= response.status < Status.MULTIPLE_CHOICES
        if download_name and has_content:
            response.headers.set(
                "Content-Disposition", attachment(download_name)
            )
        return response^

    def statistics(self) -> FileStatistics:
        """Returns the counters of this handler and its copies, so of all
        workers of the process. Callable on any thread.

        Returns:
            The sums.
        """
        return self._folder.store().statistics()

    @no_inline
    def _answer_without_file(
        self, req: Request, var found: FoundFile
    ) raises -> Response:
        if found.is_folder():
            return _redirect_to_folder(req)
        if self._spa_fallback and found.is_missing() and _may_be_page(req):
            return self._answer_with_fallback(req, found^)
        return answer_problem(found.problem)

    def _answer_with_fallback(
        self, req: Request, var found: FoundFile
    ) raises -> Response:
        if _wants_html(req):
            found = self._folder.find(self._spa_fallback.as_bytes())
        var response: Response
        if found.file:
            ref file = found.file.value()
            response = answer_file(
                self._folder, req, file, choose_form(self._folder, req, file)
            )
        else:
            response = answer_problem(found.problem)
        # A cache must not give the one to clients that get the other.
        response.headers.append("Vary", "Accept")
        return response^


def _escaped(path: StringSlice) -> String:
    var escaped = List[UInt8](capacity=path.byte_length() + 16)
    percent_encode[_PLAIN](path.as_bytes(), escaped)
    return String(unsafe_from_utf8=Span(escaped))


@always_inline
def _file_path(req: Request) -> Span[UInt8, ImmUntrackedOrigin]:
    """Returns the path of the file as received: the router decodes parameters,
    and an escaped `/` must not become a separator."""
    var exchange = req.unsafe_exchange()
    var path = _request_path(req)
    ref captures = exchange[].parameters.captures
    if exchange[].parameters.__len__() == 0:
        return path[min(1, len(path)) :]
    var place = captures[len(captures) - 1]
    return path[Int(place.start) : Int(place.start + place.octets)]


@always_inline
def _request_path(req: Request) -> Span[UInt8, ImmUntrackedOrigin]:
    var exchange = req.unsafe_exchange()
    return exchange[].head.path(exchange[].window())


def _redirect_to_folder(req: Request) raises -> Response:
    # A relative reference stays on this site, and is right behind a proxy that
    # removes a prefix. Without the `./`, a name with a colon would be a scheme.
    var path = _request_path(req)
    var name = path[_last_segment(path) :]
    var target = String("./", StringSlice(unsafe_from_utf8=name), "/")
    if req.query:
        target += String("?", req.query)
    return redirect(target, Status.PERMANENT_REDIRECT)


def _last_segment(path: Span[UInt8, _]) -> Int:
    var start = len(path)
    while start > 0 and path[start - 1] != _SLASH:
        start -= 1
    return start


def _may_be_page(req: Request) -> Bool:
    var path = _file_path(req)
    var name = path[_last_segment(path) :]
    return find_octet(name, _DOT) == len(name)


def _wants_html(req: Request) -> Bool:
    for value in req.headers.values("Accept"):
        if "text/html" in value.lower():
            return True
    return False
