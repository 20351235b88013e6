"""Reads the PROXY protocol header, in which a proxy reports the client of a
connection.

The configuration lists the proxies, because a header from any other peer would
let it choose its address. If proxies are expected, a connection without a
header is not that of a proxy and ends.
"""

from std.memory import OwnedPointer

from flare.core import PointerTo, write_escaped
from flare.http.stream_address import StreamAddr
from flare.net.proxy_header import parse_proxy_header
from flare.sys.socket_address import SocketAddressStorage

from ..records.statistics import count
from .connection_state import ConnectionState, Stage, Wait
from .log_lines import log_line
from .window import consume, window
from .worker_state import WorkerState, worker_of

# How many octets of an invalid header a log line shows.
comptime _SHOWN_OCTETS_MAX = 32
# Otherwise, any client could fill the log.
comptime _LINES_PER_SECOND_MAX = 16


def is_welcome(w: PointerTo[WorkerState], descriptor: Int32) -> Bool:
    """Returns whether the server may serve a connection from its peer.

    Args:
        w: The worker.
        descriptor: The accepted socket.

    Returns:
        False if the server expects proxies and the peer is not a trusted one.
    """
    if not w[].config.expects_proxy_header():
        return True
    var peer = _peer_of(w, descriptor)
    if not peer:
        # It has gone before it was looked at.
        return False
    if w[].config.trusts_proxy(peer.value()):
        return True
    _report(
        w,
        peer.value(),
        "net.untrusted_proxy: it is not one of the trusted proxies",
        Span[UInt8, ImmStaticOrigin](),
    )
    return False


@no_inline
def note_client(c: PointerTo[ConnectionState]):
    """Keeps the address of the peer, which the kernel forgets when it leaves.

    Args:
        c: The connection, which has just begun. If its PROXY header is due, the
            proxy reports the client instead.
    """
    if c[].proxy.is_header_due:
        return
    var peer = _peer_of(worker_of(c), c[].descriptor)
    if not peer or peer.value().is_unix():
        return
    try:
        c[].proxy.client = OwnedPointer(peer.value().socket_address())
    except:
        return


def take_proxy_header(c: PointerTo[ConnectionState]) -> Bool:
    """Parses and removes the PROXY header at the front of the window.

    Args:
        c: The connection, whose PROXY header is due.

    Returns:
        True if requests may follow; False if the header is incomplete or the
        connection ends.
    """
    var w = worker_of(c)
    var octets = window(c)
    try:
        var found = parse_proxy_header(octets)
        if found:
            ref header = found.value()
            if header.source:
                c[].proxy.client = OwnedPointer(header.source.value())
            else:
                c[].proxy.hides_client = True
            c[].proxy.is_header_due = False
            if c[].deadline.wait == Wait.PROXY_HEADER:
                c[].deadline.wait = Wait.NOTHING
            consume(c, w[].reactor.buffers(), header.octets)
            return True
        if c[].ending.peer_ended:
            c[].stage = Stage.CLOSING
            # A client that connects and leaves again only checks whether the
            # server is there.
            if len(octets) > 0:
                _refuse(c, "the header is cut off")
    except e:
        c[].stage = Stage.CLOSING
        _refuse(c, e.reason)
    return False


def _refuse(c: PointerTo[ConnectionState], reason: StaticString):
    var w = worker_of(c)
    var peer = _peer_of(w, c[].descriptor)
    if peer:
        _report(
            w,
            peer.value(),
            String("net.bad_proxy_header: ", reason),
            window(c),
        )


def _report(
    w: PointerTo[WorkerState],
    peer: StreamAddr,
    reason: StringSlice,
    octets: Span[UInt8, _],
):
    count(w[].statistics[].refused)
    var second = w[].reactor.now_ms() // 1000
    if second != w[].reports.second:
        w[].reports.second = second
        w[].reports.count = 0
    w[].reports.count += 1
    if w[].reports.count > _LINES_PER_SECOND_MAX:
        return
    var line = String(
        "flare: worker ",
        w[].index,
        " closed a connection from ",
        peer,
        ": ",
        reason,
    )
    if len(octets) > 0:
        line.write(': "')
        write_escaped(octets[: min(len(octets), _SHOWN_OCTETS_MAX)], line)
        line += '"' if len(octets) <= _SHOWN_OCTETS_MAX else '..."'
    if w[].reports.count == _LINES_PER_SECOND_MAX:
        line.write("; more of them in this second are not logged")
    log_line(w, line)


def _peer_of(
    w: PointerTo[WorkerState], descriptor: Int32
) -> Optional[StreamAddr]:
    var storage = SocketAddressStorage()
    if w[].reactor.peer_address(descriptor, storage) < 0:
        return None
    return StreamAddr.from_storage(storage)
