"""Reads the content of a handler's request, whole or piece by piece.

Content that is read piece by piece is dropped after reading, and the client
must wait while the handler does not read. So a request may carry more than
fits in memory.
"""

from flare.io import Reader
from flare.json import Value, loads
from flare.message import FieldLine, FieldSection
from flare.net import NetError
from flare.runtime.current import current_reactor
from flare.runtime.deadline import set_run_deadline
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.operation import CANCELLED
from flare.runtime.wait import waiting_fiber

from .exchange import CUT_OFF, NOT_UTF8, OVER, Exchange


@fieldwise_init
struct RequestBody[origin: ImmOrigin](ImplicitlyCopyable, Reader):
    """The content of a request: `req.body`.

    Parameters:
        origin: The origin of the request, which keeps the octets alive.
    """

    var _exchange: Exchange
    # The block may serve another request some day.
    var _request_id: Int

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads content that has arrived; waits for its first octet.

        The request does not keep these octets, so do not call `octets` or
        `text` afterwards.

        Args:
            into: The destination.

        Returns:
            The number of octets, at most the length of `into`; 0 at the end of
            the content, or if `into` is empty.

        Raises:
            An error `http.content …` if the peer leaves, sends malformed
            octets or exceeds the limit, and `http.stream_over` if the request
            has ended.
        """
        var x = self._exchange
        self._check()
        _check_thread(x)
        if len(into) == 0:
            return 0
        if not x[].content.is_whole:
            x[].content.is_streamed = True
        _check_size(x)
        while True:
            var count = x[].take_content(into)
            if count > 0 or x[].content.is_complete:
                return count
            _check_alone(x)
            if not x[].content.is_whole:
                x[].content_wait.reader.unsafe_begin(into)
            try:
                _await_more(x)
            except e:
                # The block may serve another request, whose reader waits.
                if x[].request_id == self._request_id:
                    _ = x[].content_wait.reader.end()
                raise e^
            count = x[].content_wait.reader.end()
            if count > 0:
                return count

    def octets(self) raises -> Span[UInt8, Self.origin]:
        """Waits for the whole content and returns its octets.

        Returns:
            A view that lives as long as the request.

        Raises:
            An error `http.content …` if the peer leaves, sends malformed
            octets or exceeds the limit, or if `read` took content before.
        """
        var x = self._exchange
        self._check()
        if x[].content.is_streamed:
            raise Error("http.content was read as a stream")
        x[].content.is_whole = True
        _check_size(x)
        while not x[].content.is_complete:
            _await_more(x)
        return rebind[Span[UInt8, Self.origin]](x[].content_octets())

    def text(self) raises -> StringSlice[Self.origin]:
        """Waits for the whole content and returns it as text.

        Returns:
            A view of the text.

        Raises:
            The errors of `octets`, and an error `http.not_utf8 …` if the
            content is not UTF-8. Unless the handler catches it, flare answers
            400.
        """
        return text_of(self._exchange, self.octets(), "the content")

    def trailers(self) raises -> FieldSection[Self.origin]:
        """Waits for the trailer fields, which follow the content (RFC 9110
        section 6.5).

        Returns:
            A view that lives as long as the request; empty unless the content
            is chunked and has trailers.

        Raises:
            The errors of `octets`, and an error `http.content …` if `read` was
            called but has not reached the end.
        """
        var x = self._exchange
        self._check()
        if not x[].content.is_complete:
            if x[].content.is_streamed:
                raise Error("http.content is not read to its end")
            _ = self.octets()
        if len(x[].content.trailers) == 0:
            # The table may still hold the lines of an earlier request.
            return FieldSection[Self.origin](
                Span[UInt8, Self.origin](), Span[FieldLine, Self.origin]()
            )
        return rebind[FieldSection[Self.origin]](
            x[].head.trailer_fields(x[].trailer_octets())
        )

    def declared_octets(self) -> Optional[Int]:
        """Returns the value of Content-Length.

        Returns:
            The length; `None` without a Content-Length, or if the request has
            ended.
        """
        var length = self._exchange[].head.content_length
        if length < 0 or self._exchange[].request_id != self._request_id:
            return None
        return length

    def set_octets_max(self, octets_max: Int):
        """Sets the limit of this request's content. Call it before reading.

        Args:
            octets_max: The limit, in place of the server's `max_body_size`.
                Content that `octets` and `text` return is held in memory;
                content from `read` is not.
        """
        if self._exchange[].request_id == self._request_id:
            self._exchange[].content.limit(octets_max)

    @always_inline
    def _check(self) raises:
        if self._exchange[].request_id != self._request_id:
            raise Error(OVER)


def text_of[
    origin: ImmOrigin
](
    exchange: Exchange, octets: Span[UInt8, origin], what: StaticString
) raises -> StringSlice[origin]:
    """Returns octets of the peer as text, or makes the answer 400.

    Parameters:
        origin: The origin of the octets.

    Args:
        exchange: The request.
        octets: The octets.
        what: The name of the octets, for the error.

    Returns:
        The text.

    Raises:
        An error `http.not_utf8 …`.
    """
    try:
        return StringSlice(from_utf8=octets)
    except:
        exchange[].rejected_status = 400
        raise Error(NOT_UTF8, " ", what)


def json_of(exchange: Exchange, octets: Span[UInt8, _]) raises -> Value:
    """Parses octets of the peer as JSON, or makes the answer 400.

    Args:
        exchange: The request.
        octets: The octets.

    Returns:
        The value.

    Raises:
        The text of a `JsonError`.
    """
    try:
        return loads(octets)
    except e:
        exchange[].rejected_status = 400
        raise e^


def _check_size(x: Exchange) raises:
    var status = x[].content.refusal(x[].head.content_length)
    if status == 0:
        return
    if x[].carrier and not x[].content.is_complete:
        # The connection gives up on the rest.
        x[].host.functions[].demand(x.unsafe_bitcast[NoneType]())
    x[].content.status = status
    x[].check_content()


def _await_more(x: Exchange) raises:
    # Returns when content has arrived, and sometimes earlier.
    x[].check_content()
    if x[].peer_gone or not x[].carrier:
        raise Error(CUT_OFF, ": the peer left")
    _check_alone(x)
    _check_thread(x)
    var fiber = waiting_fiber("read")
    var request_id = x[].request_id
    var received = x[].content.received
    # The connection sees who waits, and so which deadline applies.
    x[].waiter = fiber
    x[].host.functions[].demand(x.unsafe_bitcast[NoneType]())
    var result = 0
    if (
        x[].content.received == received
        and not x[].content.is_complete
        and x[].content.status == 0
        and not x[].peer_gone
    ):
        var began_ms = fiber.reactor().now_ms()
        result = _wait(x, fiber)
        if x[].request_id != request_id:
            # The handler has ended, and this fiber has outlived it.
            raise Error(OVER)
        if x[].content.received == received:
            # Waits that end by themselves use the peer's time up all the same.
            x[].content_wait.budget.left_ms -= (
                fiber.reactor().now_ms() - began_ms
            )
    x[].waiter = None
    x[].check_content()
    if x[].content.received > received or x[].content.is_complete:
        # Content that arrived before the peer's end counts.
        return
    if result == CANCELLED:
        raise Error(CUT_OFF, ": the request was cancelled")
    if result < 0:
        raise Error(NetError.from_errno("read", result))


@always_inline
def _check_alone(x: Exchange) raises:
    if x[].waiter:
        raise Error("http.content is awaited by another fiber")


def _wait(x: Exchange, fiber: Fiber) -> Int:
    # The peer has deadlines of its own, so the handler's does not run during
    # this wait. A deadline that the program has set around the call does.
    var run_deadline_ms = fiber.state[].run_deadline_ms
    if run_deadline_ms == NO_DEADLINE:
        return fiber.wait()
    var request_id = x[].request_id
    var began_ms = fiber.reactor().now_ms()
    set_run_deadline(fiber, NO_DEADLINE)
    var result = fiber.wait()
    var waited_ms = fiber.reactor().now_ms() - began_ms
    set_run_deadline(fiber, run_deadline_ms + waited_ms)
    if x[].request_id == request_id and x[].fiber:
        _extend(x[].fiber.value(), fiber, waited_ms)
    return result


def _extend(handler: Fiber, reader: Fiber, waited_ms: Int):
    # A handler that joins a fiber which reads waits for its content too.
    ref state = handler.state[]
    if handler != reader and state.run_deadline_ms != NO_DEADLINE:
        state.run_deadline_ms += waited_ms


@always_inline
def _check_thread(x: Exchange) raises:
    if not x[].fiber:
        return
    var reactor = current_reactor()
    if (
        not reactor
        or reactor.unsafe_value() != x[].fiber.unsafe_value().reactor()
    ):
        raise Error("runtime.wrong_thread")
