"""Defines the legal sequences of events on an HTTP/1.1 connection.

Theory of operation. A connection carries one exchange after the other. An
exchange has two sides: the request, which the client sends, and the response,
which the server sends. Each side is a small machine. Both roles run both: a
server receives the request side and sends the response side, a client does the
opposite. So one pair of tables serves both roles, and a conversation that is
legal for one end is legal for the other.

The request side waits for a head (`IDLE`), then is in its body (`BODY`, even
if the body is empty), then `DONE`. The response side cannot start by itself. A
request head makes it `AWAITED`, when 1xx responses may pass, and the final
head moves it to its `BODY`. It may be `DONE` before the request is. A server
that answers early either reads and drops the rest of the request or closes the
connection. When both sides are `DONE`, the exchange is over. Then `NEXT` makes
both idle again, or `LAST` closes both (RFC 9112 section 9.3). Until then, the
receiving machine pauses and reads no octets after the request. So pipelined
requests stay in order, and a peer cannot cause work in advance.

A protocol switch (101, or 2xx to CONNECT) moves both sides to `UPGRADED`: the
octets then belong to another protocol.

A violation by the peer moves the receiving side to `FAILED` for good. After a
framing error, the start of the next message is uncertain, and request
smuggling exploits guesses. A server still owes an answer: the `REFUSE` input
allows a response without a request head. After it, the connection closes.

Only the tables know these rules. A pair that is missing is illegal. The peer
cannot cause it, only the caller, and it becomes a local `H1Error` before any
octet is written.
"""

from std.builtin.globals import global_constant


struct SideState:
    """The states of one side of an exchange."""

    comptime IDLE: UInt8 = 0
    """No head of this side has been seen."""
    comptime AWAITED: UInt8 = 1
    """The final response head is due; of the response side only."""
    comptime BODY: UInt8 = 2
    """The head has passed, the message is not complete."""
    comptime DONE: UInt8 = 3
    """The message is complete, the exchange is not."""
    comptime CLOSED: UInt8 = 4
    """No message will follow."""
    comptime UPGRADED: UInt8 = 5
    """The connection speaks another protocol."""
    comptime FAILED: UInt8 = 6
    """The message cannot be understood or finished."""
    comptime COUNT = 7
    """How many states there are."""
    comptime ILLEGAL: UInt8 = 255
    """The result of `next_state` for an illegal pair."""


struct SideInput:
    """The inputs of one side of an exchange."""

    comptime REQUEST_HEAD: UInt8 = 0
    """A request head passed."""
    comptime INFORMATIONAL_HEAD: UInt8 = 1
    """A 1xx response passed."""
    comptime RESPONSE_HEAD: UInt8 = 2
    """A final response head passed."""
    comptime DATA: UInt8 = 3
    """Octets of the body passed."""
    comptime END: UInt8 = 4
    """The last octet of the message passed."""
    comptime NEXT: UInt8 = 5
    """Both sides are done and the connection persists."""
    comptime LAST: UInt8 = 6
    """No further exchange will follow."""
    comptime UPGRADE: UInt8 = 7
    """Both peers agreed on another protocol."""
    comptime FAIL: UInt8 = 8
    """The side cannot continue."""
    comptime REFUSE: UInt8 = 9
    """The request failed before its response began."""
    comptime COUNT = 10
    """The number of inputs."""


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var state: UInt8
    var input: UInt8
    var next: UInt8


comptime _REQUEST_ROWS: List[_Row] = [
    _Row(SideState.IDLE, SideInput.REQUEST_HEAD, SideState.BODY),
    _Row(SideState.IDLE, SideInput.LAST, SideState.CLOSED),
    _Row(SideState.IDLE, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.BODY, SideInput.DATA, SideState.BODY),
    _Row(SideState.BODY, SideInput.END, SideState.DONE),
    _Row(SideState.BODY, SideInput.UPGRADE, SideState.UPGRADED),
    _Row(SideState.BODY, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.DONE, SideInput.NEXT, SideState.IDLE),
    _Row(SideState.DONE, SideInput.LAST, SideState.CLOSED),
    _Row(SideState.DONE, SideInput.UPGRADE, SideState.UPGRADED),
    _Row(SideState.DONE, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.CLOSED, SideInput.LAST, SideState.CLOSED),
    _Row(SideState.CLOSED, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.FAILED, SideInput.LAST, SideState.FAILED),
    _Row(SideState.FAILED, SideInput.FAIL, SideState.FAILED),
]

comptime _RESPONSE_ROWS: List[_Row] = [
    _Row(SideState.IDLE, SideInput.REQUEST_HEAD, SideState.AWAITED),
    _Row(SideState.IDLE, SideInput.LAST, SideState.CLOSED),
    _Row(SideState.IDLE, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.IDLE, SideInput.REFUSE, SideState.AWAITED),
    _Row(SideState.AWAITED, SideInput.INFORMATIONAL_HEAD, SideState.AWAITED),
    _Row(SideState.AWAITED, SideInput.RESPONSE_HEAD, SideState.BODY),
    _Row(SideState.AWAITED, SideInput.UPGRADE, SideState.UPGRADED),
    _Row(SideState.AWAITED, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.AWAITED, SideInput.REFUSE, SideState.AWAITED),
    _Row(SideState.BODY, SideInput.DATA, SideState.BODY),
    _Row(SideState.BODY, SideInput.END, SideState.DONE),
    _Row(SideState.BODY, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.BODY, SideInput.REFUSE, SideState.BODY),
    _Row(SideState.DONE, SideInput.NEXT, SideState.IDLE),
    _Row(SideState.DONE, SideInput.LAST, SideState.CLOSED),
    _Row(SideState.DONE, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.DONE, SideInput.REFUSE, SideState.DONE),
    _Row(SideState.CLOSED, SideInput.LAST, SideState.CLOSED),
    _Row(SideState.CLOSED, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.FAILED, SideInput.LAST, SideState.FAILED),
    _Row(SideState.FAILED, SideInput.FAIL, SideState.FAILED),
    _Row(SideState.FAILED, SideInput.REFUSE, SideState.FAILED),
]

comptime _PAIRS = SideState.COUNT * SideInput.COUNT


def _table(rows: List[_Row]) -> Array[UInt8, _PAIRS]:
    var table = Array[UInt8, _PAIRS](fill=SideState.ILLEGAL)
    for row in rows:
        table[Int(row.state) * SideInput.COUNT + Int(row.input)] = row.next
    return table^


comptime _REQUEST_TABLE = _table(materialize[_REQUEST_ROWS]())
comptime _RESPONSE_TABLE = _table(materialize[_RESPONSE_ROWS]())


@always_inline
def next_state[is_request: Bool](state: UInt8, input: UInt8) -> UInt8:
    """Returns the next state of a side.

    Parameters:
        is_request: True for the request side, False for the response side.

    Args:
        state: The current state, one of `SideState`.
        input: The input, one of `SideInput`.

    Returns:
        The new state; `ILLEGAL` if the pair is not allowed.
    """
    var pair = Int(state) * SideInput.COUNT + Int(input)
    debug_assert(
        state < UInt8(SideState.COUNT) and input < UInt8(SideInput.COUNT),
        "no such pair",
    )
    comptime if is_request:
        return global_constant[_REQUEST_TABLE]().unsafe_get(pair)
    else:
        return global_constant[_RESPONSE_TABLE]().unsafe_get(pair)
