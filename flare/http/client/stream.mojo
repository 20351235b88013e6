"""Lets a program write the content of a request, and read that of its response,
bit by bit."""

from flare.core import OctetBlock, PointerTo, heap_destroy
from flare.io import Reader, Writer
from flare.message import HeaderMap
from flare.net import NetError
from flare.sys.errno import EBUSY

from ..timings import ExchangeTimings
from ..version import HttpVersion
from .client_state import ClientState
from .clock import now
from .cookies import keep_cookies
from .decoding import CodedPieces
from .error import ClientError, Phase, raised
from .exchange import exceeds_limit
from .stream_state import ClientStreamState, Stage


struct ClientStream(Movable, Reader, Writer):
    """Owns one exchange; made by `HttpClient.open` and `HttpClient.stream`.

    Write the content, then `end`; then `status`, `headers` and `read` give the
    response. One fiber may write while another reads. Each wait has the bound
    of the client's configuration; there is none on how much is sent or comes.

    What was read to its end gives its connection back to the client; one that
    is dropped earlier closes it.
    """

    var _state: PointerTo[ClientStreamState]

    def __init__(out self, *, unsafe_state: PointerTo[ClientStreamState]):
        """Takes an exchange over.

        Args:
            unsafe_state: The exchange.

        Safety:
            Nobody else frees it.
        """
        self._state = unsafe_state
        if self._state[].status != 0:
            self._leave_without_content()

    def __deinit__(deinit self):
        """Closes the connection, unless all was read."""
        self.close()
        var s = self._state
        ClientState.end_call(s[].client, s[].call)
        heap_destroy(s)

    def close(self):
        """Gives the exchange up; a second time nothing happens."""
        self._leave(is_whole=False)

    def give_up(self, cause: Error):
        """Gives the exchange up, and tells the `CallLog` of the client why.

        Args:
            cause: What the program failed with meanwhile.
        """
        if self._state[].stage == Stage.OVER:
            return
        var phase = Phase.CONTENT
        if self._state[].stage == Stage.SENDING:
            phase = Phase.SEND
        self._state[].call[].fail(cause, phase)
        self.close()

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Sends octets of the content, and parks while there is no room.

        Args:
            octets: The octets.

        Returns:
            How many were taken, all of them.

        Raises:
            Error: `client.closed send` and the like. Where the server has
                answered already, `status` says what.
        """
        if not self.begin_content():
            raise raised(
                ClientError.CLOSED,
                Phase.SEND,
                "the server has answered, and wants no content",
            )
        if len(octets) == 0:
            return 0
        self._enter_write()
        var failure = Optional[Error](None)
        try:
            self._state[].exchange.write(octets)
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        self._leave_write(failure)
        return len(octets)

    def begin_content(self) raises -> Bool:
        """Sends the head, and waits for 100 (Continue) where it was asked for.

        Returns:
            Whether the server wants the content; False if it has answered
            without it.

        Raises:
            Error: `client.closed send` and the like.
        """
        self._check(Stage.SENDING)
        if self._state[].is_refused:
            return False
        if not self._state[].is_head_due:
            return True
        self._enter_write()
        self._state[].is_head_due = False
        var goes_on = True
        var failure = Optional[Error](None)
        try:
            if self._state[].expects_continue:
                goes_on = self._state[].exchange.may_go_on()
            else:
                self._state[].exchange.flush()
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        self._state[].is_refused = not goes_on
        self._leave_write(failure)
        return goes_on

    def set_trailer(self, name: StringSlice, value: StringSlice) raises:
        """Sets a field that follows the content, where it is chunked.

        Args:
            name: The name.
            value: The value.

        Raises:
            An error `message.bad_header_name` or `message.bad_header_value`.
        """
        self._check(Stage.SENDING)
        self._state[].sent_trailers.set(name, value)

    def end(self) raises:
        """Ends the content; a second time nothing happens.

        Raises:
            Error: `client.bad_request send` if it is shorter than was said, and
                what `write` raises.
        """
        if self._state[].stage != Stage.SENDING:
            return
        self._enter_write()
        var failure = Optional[Error](None)
        try:
            if not self._state[].is_refused:
                self._state[].exchange.end(self._state[].sent_trailers)
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        self._state[].is_head_due = False
        if self._state[].stage == Stage.SENDING:
            self._state[].stage = Stage.SENT
            ref call = self._state[].call[]
            call.timings.send_us += call.next_phase_us()
        self._leave_write(failure)

    def status(self) raises -> Int:
        """Waits for the head of the response.

        Returns:
            The status.

        Raises:
            Error: `client.timeout head`, `client.protocol head` and the like.
        """
        self._receive_head()
        return self._state[].status

    def version(self) raises -> HttpVersion:
        """Waits for the head of the response.

        Returns:
            The version of HTTP that the server speaks.

        Raises:
            Error: As `status` does.
        """
        self._receive_head()
        return HttpVersion(1, self._state[].version_minor)

    def headers(self) raises -> ref[origin_of(self)] HeaderMap:
        """Waits for the head of the response.

        Returns:
            Its fields, while the stream lives.

        Raises:
            Error: As `status` does.
        """
        self._receive_head()
        return (
            Pointer(to=self._state[].headers)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )

    def url(self) -> String:
        """Tells which URL is asked, behind all redirections that were followed.

        Returns:
            The URL.
        """
        return self._state[].call[].url_text()

    def timings(self) -> ExchangeTimings:
        """Tells how long the phases took.

        Returns:
            The timings of those that are over.
        """
        return self._state[].call[].timings

    def decoded_from(self) raises -> String:
        """Tells which content codings are undone while the content is read.

        Content-Encoding and Content-Length are not among the `headers` then.

        Returns:
            What Content-Encoding said; empty if the content is read as it
            comes.

        Raises:
            Error: As `status` does.
        """
        self._receive_head()
        return self._state[].codings

    def trailers(self) -> HeaderMap:
        """Tells which fields came behind the content of the response.

        Returns:
            The fields; none before all was read.
        """
        return self._state[].trailers.copy()

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads content of the response, and waits only while none is there.

        Args:
            into: Where to put it.

        Returns:
            How many octets came; 0 at the end, or if `into` is empty.

        Raises:
            Error: `client.closed content`, `client.timeout content`,
                `client.encoding content` and the like. What was read before is
                not the whole. `client.over content` where the exchange was
                given up, or has failed, before the end.
        """
        self._receive_head()
        if len(into) == 0 or self._state[].is_whole:
            return 0
        if self._state[].stage == Stage.OVER:
            raise raised(
                ClientError.OVER,
                Phase.CONTENT,
                "the exchange was over before the content was whole",
            )
        if self._state[].is_reading:
            raise Error(NetError.from_errno("read", EBUSY))
        self._state[].is_reading = True
        var count = 0
        var failure = Optional[Error](None)
        try:
            count = self._read(into)
        except e:
            failure = Error(ClientError.because(Phase.CONTENT, e))
        self._leave_read()
        if failure:
            self._fail(failure.take())
        if count == 0:
            self._end_content()
        return count

    def has_received(self) -> Bool:
        """Returns whether octets behind the head are there already.

        Returns:
            True if `read` finds content, its end or a failure at once, or some
            octets of what frames the content. False before the head was read.
        """
        if self._state[].is_whole or self._state[].stage == Stage.OVER:
            return True
        if self._state[].status == 0:
            return False
        return self._state[].exchange.has_received()

    def read_all(self, octets_max: Int) raises -> List[UInt8]:
        """Reads the rest of the content.

        Args:
            octets_max: The most octets there may be.

        Returns:
            The octets.

        Raises:
            Error: `client.too_large content`, and what `read` raises.
        """
        var all = List[UInt8]()
        var piece = OctetBlock(length=16 * 1024)
        while True:
            var count = self.read(piece.span())
            if count == 0:
                return all^
            if len(all) + count > octets_max:
                self._fail(exceeds_limit())
            all.extend(piece.span()[0:count])

    def _receive_head(self) raises:
        if self._state[].status != 0:
            return
        if self._state[].stage == Stage.SENDING:
            # A reader beside the writer looks for an early answer.
            if not self._state[].is_writing and self._state[].is_head_due:
                _ = self.begin_content()
        self._check(Stage.SENT)
        if self._state[].is_reading:
            raise Error(NetError.from_errno("read", EBUSY))
        self._state[].is_reading = True
        var failure = Optional[Error](None)
        try:
            self._await_head()
            keep_cookies(self._state[].client, self._state[].call)
            ref call = self._state[].call[]
            call.timings.head_us += call.next_phase_us()
            self._state[].take_head()
        except e:
            failure = Error(ClientError.because(Phase.HEAD, e))
        self._leave_read()
        if failure:
            self._fail(failure.take())
        self._leave_without_content()

    def _leave_without_content(self):
        # A program need not read if nothing comes.
        if (
            self._state[].stage != Stage.SENT
            or self._state[].exchange.has_content()
        ):
            return
        self._state[].is_whole = True
        var nothing = List[UInt8]()
        var is_whole: Bool
        try:
            is_whole = self._state[].exchange.read(Span(nothing)) == 0
        except:
            is_whole = False
        self._leave(is_whole=is_whole)

    def _end_content(self):
        self._state[].is_whole = True
        self._state[].trailers = self._state[].exchange.take_trailers()
        self._leave(is_whole=True)

    def _await_head(self) raises:
        # The time of the server begins behind the last octet sent, and another
        # fiber may be sending still.
        var x = self._state[].exchange
        var bound_ms = x.state[].timeouts.first_octet_ms
        var left_ms = bound_ms
        while True:
            var began_ms = now()
            try:
                _ = x.receive_head_within(left_ms)
                return
            except e:
                var least_ms = min(left_ms, x.state[].timeouts.read_ms)
                if (
                    ClientError.because(Phase.HEAD, e).kind
                    != ClientError.TIMEOUT
                    # Then a deadline of the program has passed.
                    or now() - began_ms < least_ms
                    or not (
                        self._state[].is_writing
                        or self._state[].sent_ms > began_ms
                    )
                ):
                    raise e^
            left_ms = bound_ms
            if not self._state[].is_writing:
                left_ms = max(bound_ms - (now() - self._state[].sent_ms), 1)

    def _read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        if not self._state[].coded:
            return self._state[].exchange.read(into)
        var pieces = CodedPieces(
            Pointer(to=self._state[].coded.value()).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )
        while True:
            var count = pieces.take(into)
            if count > 0 or pieces.has_ended():
                return count
            pieces.add(self._state[].exchange.read(pieces.room()))

    def _check(self, most: UInt8) raises:
        if self._state[].stage > most:
            raise raised(
                ClientError.OVER,
                Phase.SEND if most == Stage.SENDING else Phase.HEAD,
                "the content or the exchange is over",
            )

    def _enter_write(self) raises:
        self._check(Stage.SENDING)
        if self._state[].is_writing:
            raise Error(NetError.from_errno("write", EBUSY))
        self._state[].is_writing = True

    def _fail(self, var failure: Error) raises:
        self._state[].call[].fail(failure, Phase.CONTENT)
        self._leave(is_whole=False)
        raise failure^

    def _leave_write(self, mut failure: Optional[Error]) raises:
        if failure:
            # The answer may be there nevertheless.
            self._state[].call[].fail(failure.value(), Phase.SEND)
            self._state[].exchange.stop_sending(
                ClientError.because(Phase.SEND, failure.value())
            )
            self._state[].is_refused = True
        else:
            self._state[].sent_ms = now()
        self._state[].is_writing = False
        self._leave_last()
        if failure:
            raise failure.take()

    def _leave_read(self):
        self._state[].is_reading = False
        self._leave_last()

    def _leave_last(self):
        # Whoever is still there needs the connection.
        ref s = self._state[]
        if s.is_left and not s.is_writing and not s.is_reading:
            self._give_back(is_whole=False)

    def _leave(self, *, is_whole: Bool):
        if self._state[].stage == Stage.OVER:
            return
        var is_sent = self._state[].stage == Stage.SENT
        self._state[].stage = Stage.OVER
        if self._state[].status != 0:
            ref call = self._state[].call[]
            call.timings.content_us += call.next_phase_us()
        if self._state[].is_writing or self._state[].is_reading:
            # Who waits there leaves first.
            self._state[].is_left = True
            self._state[].exchange.close()
            return
        self._give_back(is_whole=is_whole and is_sent)

    def _give_back(self, *, is_whole: Bool):
        self._state[].is_left = False
        var pool = ClientState.pool_of(self._state[].client)
        var origin = self._state[].call[].origin.value()
        if is_whole:
            pool.release(origin, self._state[].exchange)
        else:
            pool.discard(origin, self._state[].exchange)
