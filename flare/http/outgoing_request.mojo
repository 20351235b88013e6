"""Holds a request that a program makes, in the shape of one that was received.

So one type reads both: whoever has a `Request` need not know which it is.
"""

from flare.core import PointerTo, heap_create
from flare.message import FieldLine, HeaderMap, Method, RequestTarget

from .body import Body
from .content import Content
from .exchange import Exchange, ExchangeState


struct OutgoingRequest(Movable):
    """Owns the octets of a request that is to be sent."""

    var exchange: ExchangeState
    """The request as others see it; first, so that its address is ours."""
    var method: String
    """The method."""
    var url: String
    """What is asked for."""
    var fields: HeaderMap
    """The header fields."""
    var body: Body
    """The content."""

    def __init__(
        out self, var method: String, var url: String, var content: Content
    ) raises:
        """Takes the parts of a request over.

        Args:
            method: The method.
            url: What is asked for.
            content: The content and its type.

        Raises:
            An error `message.bad_header_value` if the type is none.
        """
        self.exchange = ExchangeState()
        self.method = method^
        self.url = url^
        self.fields = HeaderMap()
        if content.media_type.byte_length() > 0:
            self.fields.set("Content-Type", content.media_type)
        self.body = content^.into_body()

    @staticmethod
    def create(
        var method: String, var url: String, var content: Content
    ) raises -> Exchange:
        """Makes a request on the heap.

        Args:
            method: The method.
            url: What is asked for.
            content: The content and its type.

        Returns:
            The exchange that views it, which is also its address.

        Raises:
            An error `message.bad_header_value` if the type is none.
        """
        var made = heap_create(Self(method^, url^, content^))
        var octets = made[].body.octets()
        ref x = made[].exchange
        x.content_view = (
            octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        x.content_view_octets = len(octets)
        x.content_received = len(octets)
        x.content_complete = True
        x.request_id = 1
        refresh(made)
        return made.unsafe_bitcast[ExchangeState]()


def refresh(request: PointerTo[OutgoingRequest]):
    """Writes the head anew, after a field has changed.

    Args:
        request: The request.
    """
    ref r = request[]
    ref x = r.exchange
    x.gathered.clear()
    x.gathered.append(r.method.as_bytes())
    x.gathered.append(" ")
    x.gathered.append(r.url.as_bytes())
    x.gathered.append(" HTTP/1.1\r\n")
    var start = len(x.gathered)
    x.gathered.append(r.fields.wire())
    x.octets = x.gathered.unsafe_front()
    x.octet_count = len(x.gathered)
    ref head = x.head
    head.begin(0)
    head.method = Method.from_octets(r.method.as_bytes())
    head.method_octets = r.method.byte_length()
    head.target_start = head.method_octets + 1
    head.target_octets = r.url.byte_length()
    head.known = r.fields.known()
    head.content_length = x.content_view_octets
    try:
        head.target = RequestTarget.parse(r.url.as_bytes(), head.method)
    except:
        # What is not absolute is joined to a base URL when it is sent.
        head.target = RequestTarget()
    for line in r.fields.view().lines:
        head.lines.append(
            FieldLine(
                line.name_start + UInt32(start),
                line.name_octets,
                line.value_start + UInt32(start),
                line.value_octets,
            )
        )
