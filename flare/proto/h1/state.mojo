"""Decides what may happen next on an HTTP/1.1 connection.

Theory of operation. A connection carries one exchange after the other, and an
exchange has two sides: the request, which the client sends, and the response,
which the server sends. Each side is a small machine of its own. Both roles run
both: a server receives the request side and sends the response side, a client
the other way round; so one pair of tables serves both roles, and a legal
conversation is legal seen from either end.

The request side waits for a head (`IDLE`), then is in its body (`BODY`, also
where the body is empty), then `DONE`. The response side cannot begin by itself:
a request head makes it `AWAITED`, where 1xx responses may pass, and the final
head takes it into its `BODY`. It may be `DONE` before the request is: a server
may answer early, and the rest of the request is read and dropped or the
connection closes. When both sides are `DONE`, the exchange is over, and either
`NEXT` makes both idle again or `LAST` closes both (RFC 9112 section 9.3).
Meanwhile nothing behind the request is looked at: the receiving machine pauses,
so that pipelined requests stay in order and a peer cannot make us parse ahead.

A protocol switch (101, or 2xx to CONNECT) takes both sides to `UPGRADED`, where
the octets are no longer ours.

Whatever the peer does wrong takes the side that receives to `FAILED`, and it
stays there: after a framing error nobody knows where the next message starts,
and guessing is how requests are smuggled. A server still owes an answer: the
`REFUSE` input lets a response begin that no request head asked for. After it
the connection closes.

The tables are the only place that knows these rules. A pair that is absent is
illegal; it cannot come from the peer, only from the caller, and becomes a local
`H1Error` before an octet is written.
"""

from std.builtin.globals import global_constant


struct SideState:
    """Names the states of one side of an exchange."""

    comptime IDLE: UInt8 = 0
    """No head of this side has been seen."""
    comptime AWAITED: UInt8 = 1
    """The final response head is due; of the response side only."""
    comptime BODY: UInt8 = 2
    """The head is through, the message is not."""
    comptime DONE: UInt8 = 3
    """The message is whole, the exchange is not."""
    comptime CLOSED: UInt8 = 4
    """No message will follow."""
    comptime UPGRADED: UInt8 = 5
    """The connection speaks another protocol."""
    comptime FAILED: UInt8 = 6
    """The message cannot be understood or finished."""
    comptime COUNT = 7
    """How many states there are."""
    comptime ILLEGAL: UInt8 = 255
    """No state: what `next_state` answers for a pair that is not allowed."""


struct SideInput:
    """Names what can happen to one side of an exchange."""

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
    """The side cannot go on."""
    comptime REFUSE: UInt8 = 9
    """The request failed before its response began."""
    comptime COUNT = 10
    """How many inputs there are."""


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
    """Tells which state a side enters.

    Parameters:
        is_request: True for the request side, false for the response side.

    Args:
        state: The current state, one of `SideState`.
        input: What happened, one of `SideInput`.

    Returns:
        The new state, or `ILLEGAL` if the pair is not allowed.
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
