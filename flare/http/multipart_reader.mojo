"""Reads the parts of a form one by one, and files piece by piece."""

from std.memory import unsafe_memcpy

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.io import Reader
from flare.proto.multipart import (
    MultipartEvent,
    MultipartLimits,
    MultipartMachine,
    MultipartPart,
    boundary_in,
)

from .exchange import BAD_FORM, Exchange
from .rejected_text import expected_type

comptime _READ_OCTETS = 16 * 1024


struct _ReaderState[R: Reader & Movable & Deinitable](Movable):
    var source: Self.R
    var machine: MultipartMachine
    var window: Buffer
    # The octets of content at the front of the window.
    var data_octets: Int
    var is_in_part: Bool
    var is_at_end: Bool
    var is_read: Bool

    def __init__(out self, var source: Self.R, var machine: MultipartMachine):
        self.source = source^
        self.machine = machine^
        self.window = Buffer()
        self.data_octets = 0
        self.is_in_part = False
        self.is_at_end = False
        self.is_read = False


struct MultipartReader[R: Reader & Movable & Deinitable](Movable, Reader):
    """Reads the parts of a form.

    Parameters:
        R: The type of the reader of its octets, such as a `RequestBody`.
    """

    # Methods wait, so what they change lies elsewhere.
    var _state: PointerTo[_ReaderState[Self.R]]
    # Whose answer says what is wrong with the form, and its number.
    var _exchange: Optional[Exchange]
    var _request_id: Int

    def __init__(
        out self,
        var source: Self.R,
        boundary: Span[UInt8, _],
        limits: MultipartLimits = MultipartLimits(),
        *,
        exchange: Optional[Exchange] = None,
    ):
        """Creates a reader before the first part.

        Args:
            source: The reader of the form's octets.
            boundary: The boundary of its Content-Type.
            limits: Bounds on the form.
            exchange: The request that has the form, if any.
        """
        self._exchange = exchange
        self._request_id = exchange.value()[].request_id if exchange else 0
        self._state = heap_create(
            _ReaderState(source^, MultipartMachine(boundary, limits))
        )

    def __deinit__(deinit self):
        """Ends the reader. Unread octets stay in its source."""
        heap_destroy(self._state)

    def next_part(self) raises -> Optional[MultipartPart]:
        """Waits for the next part, and skips the rest of the present one.

        Returns:
            The part; `None` after the last one.

        Raises:
            An error `http.bad_form …` if the form is malformed, truncated or
            exceeds a limit. Unless the handler catches it, flare answers 400 or
            413. Also raises the errors of the source.
        """
        var s = self._state
        while s[].is_in_part:
            s[].window.consume(s[].data_octets)
            s[].data_octets = 0
            self._find_data()
        while not s[].is_at_end:
            if self._advance() == MultipartEvent.PART_HEAD:
                return s[].machine.part.copy()
        return None

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads content of the part; waits for its first octet.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end of the part, or if `into` is
            empty.

        Raises:
            The errors of `next_part`.
        """
        var s = self._state
        if len(into) == 0:
            return 0
        self._find_data()
        var count = min(len(into), s[].data_octets)
        if count > 0:
            unsafe_memcpy(
                dest=into.unsafe_ptr(),
                src=s[].window.span().unsafe_ptr(),
                count=count,
            )
            s[].window.consume(count)
            s[].data_octets -= count
        return count

    def octets(self, octets_max: Int = 1 << 20) raises -> List[UInt8]:
        """Waits for the rest of the part and returns its octets.

        Args:
            octets_max: The maximum number of octets.

        Returns:
            The octets.

        Raises:
            The errors of `next_part`, also if there are more octets.
        """
        var s = self._state
        var content = List[UInt8]()
        while True:
            self._find_data()
            if s[].data_octets == 0:
                return content^
            if len(content) + s[].data_octets > octets_max:
                raise form_error(self._present(), 413, "a part is too large")
            content.extend(s[].window.span()[: s[].data_octets])
            s[].window.consume(s[].data_octets)
            s[].data_octets = 0

    def text(self, octets_max: Int = 1 << 20) raises -> String:
        """Waits for the rest of the part and returns it as text.

        Args:
            octets_max: The maximum number of octets.

        Returns:
            The text.

        Raises:
            The errors of `octets`, also if the content is not UTF-8.
        """
        var content = self.octets(octets_max)
        try:
            return String(StringSlice(from_utf8=Span(content)))
        except:
            raise form_error(self._present(), 400, "a field is not UTF-8")

    def _find_data(self) raises:
        # Until there is content of the part, or the part has ended.
        var s = self._state
        while s[].is_in_part and s[].data_octets == 0:
            _ = self._advance()

    def _advance(self) raises -> UInt8:
        # One event of the machine, and octets for it where it wants some.
        var s = self._state
        try:
            var event = s[].machine.next_event(s[].window.span())
            if event.kind == MultipartEvent.DATA:
                s[].window.consume(event.start)
                s[].data_octets = event.length
                return event.kind
            s[].window.consume(event.consumed)
            if event.kind == MultipartEvent.PART_HEAD:
                s[].is_in_part = True
            elif event.kind == MultipartEvent.END_OF_PART:
                s[].is_in_part = False
            elif event.kind == MultipartEvent.END:
                s[].is_at_end = True
            if event.kind != MultipartEvent.NEED_OCTETS:
                return event.kind
        except e:
            raise form_error(self._present(), e.status(), e.reason)
        self._read_more()
        return MultipartEvent.NEED_OCTETS

    def _read_more(self) raises:
        var s = self._state
        if s[].is_read:
            raise Error("http.multipart is read by another fiber")
        # The memory lies on the heap and stays while the fiber is parked.
        var room = s[].window.reserve(_READ_OCTETS)
        var count: Int
        s[].is_read = True
        try:
            count = s[].source.read(Span(unsafe_ptr=room, length=_READ_OCTETS))
        finally:
            s[].is_read = False
        s[].window.advance(count)
        if count == 0:
            try:
                s[].machine.receive_end()
            except e:
                raise form_error(self._present(), e.status(), e.reason)

    def _present(self) -> Optional[Exchange]:
        # The block may serve another request by now.
        if (
            self._exchange
            and self._exchange.value()[].request_id != self._request_id
        ):
            return None
        return self._exchange


def boundary_of[
    origin: ImmOrigin
](exchange: Exchange, type: Optional[StringSlice[origin]]) raises -> List[
    UInt8
]:
    """Returns the boundary between the parts of a request's form.

    Parameters:
        origin: The origin of the type.

    Args:
        exchange: The request.
        type: The value of its Content-Type.

    Returns:
        The boundary.

    Raises:
        An error `http.bad_form …` if the type is another, or has no boundary.
    """
    var boundary = Optional[List[UInt8]](None)
    try:
        if type:
            boundary = boundary_in(type.value().as_bytes())
    except e:
        raise form_error(exchange, 400, e.reason)
    if not boundary:
        raise form_error(
            exchange, 415, expected_type("multipart/form-data", type)
        )
    return boundary.take()


def form_error(
    exchange: Optional[Exchange], status: Int, reason: StringSlice
) -> Error:
    """Returns the error for a form that breaks a rule or a limit.

    Args:
        exchange: The request that has the form, if any.
        status: The status that answers the error, unless it is caught.
        reason: The reason; octets of the peer are escaped in it.

    Returns:
        An error `http.bad_form …`.
    """
    if exchange:
        exchange.value()[].rejected_status = status
    return Error(BAD_FORM, " ", status, " ", reason)
