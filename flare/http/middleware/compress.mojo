"""Compresses the content of responses, if the client accepts a coding."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.body import Body
from flare.http.encoding.accept_encoding import AcceptEncoding
from flare.http.encoding.coding import ContentCoding
from flare.http.encoding.compressed_body import CompressedBody
from flare.http.encoding.compression_config import (
    CompressionConfig,
    available_codings,
)
from flare.http.encoding.content_encoder import ContentEncoder
from flare.http.encoding.error import EncodingError
from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.stream_function import StreamFunction
from flare.message import (
    FieldName,
    Method,
    Status,
    allows_content,
)
from flare.message.etag import lists_etag
from flare.message.list_grammar import lists_member
from flare.sys.coding_step import CodingFlush

from .vary import add_to_vary


struct Compress[H: Handler](Handler):
    """Compresses responses whose type and length make it worthwhile.

    - It chooses the coding with the greatest weight in Accept-Encoding, or the
      first configured one of equal weights. If none is acceptable, it does not
      compress.
    - Responses that could be compressed have `Vary: Accept-Encoding`,
      compressed or not, as do answers to requests whose handler raised. A
      strong ETag becomes a weak one, because the octets differ. So does that
      of a 304, if the client accepts a coding.
    - A stream is flushed at each write. Long content is compressed while it is
      sent, without a Content-Length.
    - It leaves unchanged: 1xx, 204, 205 and 206; responses with
      Content-Encoding, Content-Range or a digest of the content; responses
      with `Cache-Control: no-transform`.
    - An answer to HEAD has the fields of the answer to GET, without
      Content-Length.

    If a page contains both a secret and text that an attacker chose, its
    compressed length reveals whether the two are alike (BREACH). Send such a
    page with `no-transform`.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var config: CompressionConfig
    """The codings, types and lengths to compress."""
    var _codings: List[ContentCoding]
    var _encoder: _KeptEncoder

    def __init__(
        out self,
        var inner: Self.H,
        var config: CompressionConfig = CompressionConfig(),
    ) raises:
        """Creates middleware that compresses a handler's responses.

        Args:
            inner: The inner handler.
            config: The codings, types and lengths to compress.

        Raises:
            EncodingError: If the machine lacks the library of a coding, or if
                a field of the configuration is out of its bounds.
        """
        if config.first_problem():
            raise EncodingError(
                EncodingError.BAD_CONFIG, "configure", "", 0
            ).about(config.first_problem().value().as_bytes())
        var codings = available_codings()
        if config.codings:
            codings = config.codings.value().copy()
        elif len(codings) == 0:
            codings.append(ContentCoding.GZIP)
        # A library that is missing shows here, not at the first request.
        for coding in codings:
            _ = ContentEncoder(coding, config.level_of(coding))
        self.inner = inner^
        self.config = config^
        self._codings = codings^
        self._encoder = _KeptEncoder()

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, possibly compressed.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, `message.headers_too_large`, and an
            EncodingError if memory runs out.
        """
        var response: Response
        try:
            response = self.inner.serve(req)
        except e:
            add_to_vary["Accept-Encoding"](req.error_headers())
            raise e^
        if may_be_discarded(req, response):
            add_to_vary["Accept-Encoding"](req.error_headers())
        if response.status == Status.NOT_MODIFIED:
            self._match_not_modified(req, response)
        elif _may_change(response) and self._is_worth_it(response):
            add_to_vary["Accept-Encoding"](response.headers)
            var coding = AcceptEncoding.of(req.headers).best(self._codings)
            if coding and coding.value() != ContentCoding.IDENTITY:
                self._compress(req, response, coding.value())
        return response^

    def _is_worth_it(self, response: Response) -> Bool:
        var content_type = response.headers.get("Content-Type")
        if not content_type or not self.config.allows_type(
            content_type.value()
        ):
            return False
        if not response.body.is_stream():
            return len(response.body) >= self.config.content_octets_min
        # A stream that will be short says so.
        var length = response.headers.get("Content-Length")
        try:
            return (
                not length
                or Int(length.value()) >= self.config.content_octets_min
            )
        except:
            return False

    def _match_not_modified(self, req: Request, mut response: Response) raises:
        # The fields are those that a 200 would have (RFC 9110 section 15.4.5),
        # whose type and length are not known here.
        var coding = AcceptEncoding.of(req.headers).best(self._codings)
        if not _says_no_transform(response):
            add_to_vary["Accept-Encoding"](response.headers)
            if (
                coding
                and coding.value() != ContentCoding.IDENTITY
                and not _asks_with_etag_of(req, response)
            ):
                _weaken_etag(response)

    def _compress(
        self, req: Request, mut response: Response, coding: ContentCoding
    ) raises:
        var compressed: Body
        if (
            response.body.is_stream()
            or len(response.body) > self.config.whole_octets_max
            or req.method == Method.HEAD
        ):
            var content = Body()
            swap(content, response.body)
            var level = self.config.level_of(coding)
            compressed = Body(
                stream=StreamFunction(CompressedBody(content^, coding, level))
            )
        else:
            var level = self.config.level_of(coding, len(response.body))
            var octets = self._encoder.compress(
                response.body.octets(), coding, level
            )
            if len(octets) >= len(response.body):
                return
            compressed = Body(octets^)
        swap(response.body, compressed)
        _ = response.headers.remove("Content-Length")
        # Ranges would be those of other octets.
        _ = response.headers.remove("Accept-Ranges")
        response.headers.set("Content-Encoding", coding.name())
        _weaken_etag(response)


struct _KeptEncoder(Copyable, Movable):
    """Keeps the last encoder, because creating one costs more than coding a
    short content. Whole contents are compressed without waiting, so one is
    enough.
    """

    var _encoder: PointerTo[Optional[ContentEncoder]]

    def __init__(out self):
        self._encoder = heap_create(Optional[ContentEncoder](None))

    def __init__(out self, *, copy: Self):
        # Each worker has its own.
        self = Self()

    def __deinit__(deinit self):
        heap_destroy(self._encoder)

    def compress(
        self, octets: Span[UInt8, _], coding: ContentCoding, level: Int
    ) raises -> List[UInt8]:
        var encoder: ContentEncoder
        if (
            self._encoder[]
            and self._encoder[].value().coding() == coding
            and self._encoder[].value().level() == level
        ):
            encoder = self._encoder[].take()
            encoder.reset()
        else:
            encoder = ContentEncoder(coding, level)
        var compressed = List[UInt8](capacity=len(octets) // 2 + 64)
        encoder.append(octets, compressed, CodingFlush.FINISH)
        self._encoder[] = encoder^
        return compressed^


def _may_change(response: Response) -> Bool:
    if (
        not allows_content(response.status)
        or response.status == Status.RESET_CONTENT
        or response.status == Status.PARTIAL_CONTENT
    ):
        return False
    if response.headers.has_known(
        FieldName.CONTENT_ENCODING
    ) or response.headers.has_known(FieldName.CONTENT_RANGE):
        return False
    comptime DIGESTS: List[StaticString] = [
        "Content-Digest",
        "Repr-Digest",
        "Digest",
        "Content-MD5",
    ]
    comptime for i in range(len(DIGESTS)):
        comptime name = DIGESTS[i]
        if response.headers.contains(name):
            return False
    for trailers in response.headers.values("Trailer"):
        comptime for i in range(len(DIGESTS)):
            comptime name = DIGESTS[i]
            if lists_member(
                trailers.as_bytes(), materialize[name]().as_bytes()
            ):
                return False
    return not _says_no_transform(response)


def _says_no_transform(response: Response) -> Bool:
    for value in response.headers.values("Cache-Control"):
        if lists_member(value.as_bytes(), "no-transform".as_bytes()):
            return True
    return False


def _asks_with_etag_of(req: Request, response: Response) -> Bool:
    # A client that sends the strong ETag got it with an uncompressed response,
    # such as an image, which would not be compressed now either.
    var etag = response.headers.get("ETag")
    if not etag:
        return False
    for tags in req.headers.values("If-None-Match"):
        if lists_etag[strong=True](tags.as_bytes(), etag.value().as_bytes()):
            return True
    return False


def _weaken_etag(mut response: Response) raises:
    var etag = response.headers.get("ETag")
    if etag and not etag.value().startswith("W/"):
        response.headers.set("ETag", String("W/", etag.value()))
