"""Carries out a download: which request continues it, and which answers do.

| answer | does |
|---|---|
| 200 | begins the file anew |
| 206 to a Range, of the same version and from the right octet | continues it |
| another 206 to a Range, or another 416 | asks again, for the whole |
| 416 whose `bytes */N` is the length that has arrived | the file is whole |
| any other | raises an error, and changes no file |
"""

from flare.core import (
    OctetBlock,
    PointerTo,
    equals_lower,
    heap_create,
    heap_destroy,
)
from flare.message import HeaderMap, Status, reason_phrase
from flare.proto.h1.grammar import decimal_value
from flare.sys.clock import unix_seconds

from ...client_error import ClientError, Phase, raised
from ..call.call import Call
from ..call.client_state import CallOwner
from ..exchange.client_exchange import exceeds_limit
from ..stream.client_stream import ClientStream
from ..stream.open import streamed
from .content_range import ContentRange
from .part_file import PartFile
from .part_record import agrees, strong_validator
from .progress import Progress

# One write of this length costs little beside handing it to the helper thread.
comptime _PIECE_OCTETS = 256 * 1024
comptime _IDENTITY: StaticString = "identity"


@fieldwise_init
struct Download(Copyable, Movable):
    """A file that was downloaded."""

    var octets: Int
    """The length of the file."""
    var kept_octets: Int
    """How many of these octets an earlier, interrupted download had left."""
    var url: String
    """The URL that answered, after redirects."""


@fieldwise_init
struct DownloadTarget(Movable):
    """The destination of a download, for one call of a function."""

    var path: String
    """The path of the file."""
    var octets_max: Int
    """The maximum length of the file."""
    var progress: Optional[Progress]
    """Called whenever octets were written."""


struct FileDownloadState(Movable):
    """The state of a download in progress."""

    var part: PartFile
    """The octets that have arrived."""
    var octets_max: Int
    """The maximum length of the file."""
    var progress: Optional[Progress]
    """Called whenever octets were written."""
    var kept_octets: Int
    """How many octets an earlier download has left."""
    var size: Optional[Int]
    """The length of the file, if the server has announced it."""
    var asks_for_whole: Bool
    """Whether the next request asks for the whole file."""
    var accepts_codings: Bool
    """Whether the program asks for a coding."""

    def __init__(out self, part: PartFile, target: DownloadTarget):
        """Creates the state before the first request.

        Args:
            part: The part of the file.
            target: The file.
        """
        self.part = part
        self.octets_max = target.octets_max
        self.progress = target.progress
        self.kept_octets = 0
        self.size = None
        self.asks_for_whole = not part.can_continue()
        self.accepts_codings = False


@fieldwise_init
struct FileDownload(TrivialRegisterPassable):
    """A download in progress."""

    var state: PointerTo[FileDownloadState]
    """The heap state."""

    @staticmethod
    def open(target: DownloadTarget, var url: String) raises -> Self:
        """Opens the part of a file.

        Args:
            target: The file.
            url: The URL that is asked, before redirects.

        Returns:
            The download; call `close` at its end.

        Raises:
            ClientError: `client.file prepare` or `client.bad_config prepare`.
        """
        if target.octets_max < 1:
            raise raised(
                ClientError.BAD_CONFIG,
                Phase.PREPARE,
                "octets_max of a download is less than 1",
            )
        var part = PartFile.open(target.path, url^)
        return Self(heap_create(FileDownloadState(part, target)))

    def close(self):
        """Closes the part, and frees the state."""
        self.state[].part.close()
        heap_destroy(self.state)

    def receive(self, var owner: CallOwner) raises -> Optional[Download]:
        """Sends a request, and writes the content of the response.

        Args:
            owner: The call; its target is set.

        Returns:
            The download; `None` if another request must ask for the whole.

        Raises:
            ClientError: The failure of the call or of the file.
        """
        self._complete_request(owner.call)
        var stream = ClientStream(unsafe_state=streamed(owner^))
        var continues = not self.state[].asks_for_whole
        var status = stream.status()
        if status == Status.OK:
            self._begin(stream.headers())
        elif continues and status == Status.PARTIAL_CONTENT:
            if not self._continue(stream.headers()):
                self.state[].asks_for_whole = True
                return None
        elif continues and status == Status.RANGE_NOT_SATISFIABLE:
            if not self._is_whole(stream.headers()):
                self.state[].asks_for_whole = True
                return None
        else:
            raise _unexpected(status)
        if status != Status.RANGE_NOT_SATISFIABLE:
            try:
                self._receive_content(stream)
            except e:
                stream.give_up(e)
                raise e^
        self.state[].part.finish()
        return Download(
            self.state[].part.state[].octets,
            self.state[].kept_octets,
            stream.url(),
        )

    def _complete_request(self, call: Call) raises:
        ref headers = call[].headers
        if headers.contains("Range") or headers.contains("If-Range"):
            raise raised(
                ClientError.BAD_REQUEST,
                Phase.PREPARE,
                "a download sets Range and If-Range itself",
            )
        # Ranges count octets of the coded content, if it is coded. So no coding
        # is undone, and only programs that ask for one get one.
        self.state[].accepts_codings = headers.contains("Accept-Encoding")
        if not self.state[].accepts_codings:
            headers.set("Accept-Encoding", "identity")
        if self.state[].asks_for_whole:
            return
        headers.set("Range", _rest_after(self.state[].part.state[].octets))
        headers.set("If-Range", self.state[].part.state[].validator)

    def _begin(self, headers: HeaderMap) raises:
        if self._is_coded(headers):
            raise raised(
                ClientError.ENCODING,
                Phase.HEAD,
                "the server has encoded the content without being asked to",
            )
        self.state[].kept_octets = 0
        self.state[].size = _length_in(headers)
        if (
            self.state[].size
            and self.state[].size.value() > self.state[].octets_max
        ):
            raise exceeds_limit()
        self.state[].part.begin(strong_validator(headers, unix_seconds()))

    def _continue(self, headers: HeaderMap) raises -> Bool:
        var range = _range_in(headers)
        if (
            not range
            or range.value().start != self.state[].part.state[].octets
            or range.value().end == range.value().start
            or self._is_coded(headers)
            or not agrees(
                self.state[].part.state[].validator,
                headers,
                unix_seconds(),
                requires_tag=True,
            )
        ):
            return False
        if range.value().size > self.state[].octets_max:
            raise exceeds_limit()
        self.state[].kept_octets = self.state[].part.state[].octets
        self.state[].size = range.value().size
        return True

    def _is_whole(self, headers: HeaderMap) -> Bool:
        var range = _range_in(headers)
        self.state[].kept_octets = self.state[].part.state[].octets
        return (
            Bool(range)
            and range.value().start == range.value().end
            and range.value().size == self.state[].part.state[].octets
            and agrees(
                self.state[].part.state[].validator,
                headers,
                unix_seconds(),
                requires_tag=False,
            )
        )

    def _receive_content(self, stream: ClientStream) raises:
        self._show()
        var piece = OctetBlock(length=_PIECE_OCTETS)
        var is_over = False
        while not is_over:
            var filled = 0
            var failure = Optional[Error](None)
            try:
                is_over = _fill(stream, piece.span(), filled)
            except e:
                # The octets that have arrived can be kept.
                failure = e^
            if filled > 0:
                self._check_room(filled)
                self.state[].part.append(
                    Span(
                        unsafe_ptr=piece.span()
                        .unsafe_ptr()
                        .unsafe_origin_cast[MutUntrackedOrigin](),
                        length=filled,
                    )
                )
                self._show()
            if failure:
                raise failure.take()
        _ = piece^
        if (
            self.state[].size
            and self.state[].part.state[].octets < self.state[].size.value()
        ):
            raise raised(
                ClientError.CLOSED,
                Phase.CONTENT,
                "the server has sent less than the rest",
            )

    def _check_room(self, octets: Int) raises:
        var end = self.state[].part.state[].octets + octets
        if self.state[].size and end > self.state[].size.value():
            self.state[].part.forget_validator()
            raise raised(
                ClientError.PROTOCOL,
                Phase.CONTENT,
                "the server has sent more than it announced",
            )
        if end > self.state[].octets_max:
            self.state[].part.forget_validator()
            raise exceeds_limit()

    def _show(self) raises:
        if self.state[].progress:
            var progress = self.state[].progress.value()
            progress.call(
                progress.closure,
                self.state[].part.state[].octets,
                self.state[].size,
            )

    def _is_coded(self, headers: HeaderMap) -> Bool:
        var coding = headers.get("content-encoding")
        return (
            Bool(coding)
            and not self.state[].accepts_codings
            and not equals_lower(
                coding.value().as_bytes(), _IDENTITY.as_bytes()
            )
        )


def _fill(
    stream: ClientStream, into: Span[mut=True, UInt8, _], mut filled: Int
) raises -> Bool:
    # Returns whether the content has ended. Waits for its first octets only.
    while filled < len(into):
        var count = stream.read(into[filled:])
        if count == 0:
            return True
        filled += count
        if not stream.has_received():
            break
    return False


def _range_in(headers: HeaderMap) -> Optional[ContentRange]:
    var value = headers.get("content-range")
    if not value or headers.count("content-range") > 1:
        return None
    return ContentRange.parse(value.value().as_bytes())


def _length_in(headers: HeaderMap) -> Optional[Int]:
    # The machine has checked it.
    var value = headers.get("content-length")
    if not value or headers.contains("transfer-encoding"):
        return None
    var length = decimal_value(value.value().as_bytes())
    return Optional(length) if length >= 0 else None


@no_inline
def _rest_after(octets: Int) -> String:
    return String("bytes=", octets, "-")


@no_inline
def _unexpected(status: Int) -> Error:
    return Error(
        ClientError(
            ClientError.STATUS,
            Phase.ANSWER,
            String(reason_phrase(status)),
            status=status,
        )
    )
