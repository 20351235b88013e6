"""Stores a request for sending, in the form of a received one.

So a `Request` can be read without knowing which of the two it is.
"""

from flare.core import PointerTo, heap_create
from flare.message import FieldLine, HeaderMap, Method, RequestTarget

from .body import Body
from .content import Content
from .exchange import Exchange, ExchangeState


struct OutgoingRequest(Movable):
    """Owns the octets of a request to send."""

    var exchange: ExchangeState
    """The request as `Request` views it. The field is first, so that both have
    one address.
    """
    var method: String
    """The method."""
    var url: String
    """The URL."""
    var fields: HeaderMap
    """The header fields."""
    var body: Body
    """The content."""

    def __init__(
        out self, var method: String, var url: String, var content: Content
    ) raises:
        """Takes ownership of the parts of a request.

        Args:
            method: The method.
            url: The URL.
            content: The content and its type.

        Raises:
            An error `message.bad_header_value` if the type is not a field
            value.
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
        """Creates a request on the heap.

        Args:
            method: The method.
            url: The URL.
            content: The content and its type.

        Returns:
            The exchange that views it; both have the same address.

        Raises:
            An error `message.bad_header_value` if the type is not a field
            value.
        """
        var made = heap_create(Self(method^, url^, content^))
        var octets = made[].body.octets()
        ref x = made[].exchange
        x.content.view = (
            octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        x.content.view_octets = len(octets)
        x.content.received = len(octets)
        x.content.is_complete = True
        x.request_id = 1
        refresh(made)
        return made.unsafe_bitcast[ExchangeState]()


def refresh(request: PointerTo[OutgoingRequest]):
    """Writes the head again, after a field was changed.

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
    head.content_length = x.content.view_octets
    try:
        head.target = RequestTarget.parse(r.url.as_bytes(), head.method)
    except:
        # A reference is joined to a base URL when the request is sent.
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
