"""Turns received octets into requests, in the protocol of their connection."""

from flare.core import PointerTo
from flare.http.exchange import Exchange

from ..listening.protocols import HttpProtocols
from ..sending.protocol_output import end_at_once
from ..transport.connection_state import ConnectionState, connection_of
from ..transport.read_ahead import ReceiveWish
from ..transport.worker_state import worker_of
from .h1_requests import (
    advance_h1,
    close_after_exchange,
    drop_exchange,
    end_behind_h1_answer,
    end_behind_output,
    finish_h1_exchange,
    forget_h1_exchange,
    h1_receive_wish,
    is_receiving_request,
    is_upgraded_h1,
    note_h1_end,
    refuse_h1_content,
    refuse_h1_excess,
    refuse_late_h1_head,
)
from .h2_content import (
    refuse_h2_content,
    refuse_h2_contents,
    refuse_h2_excess,
    release_all_taken,
    release_taken,
)
from .h2_requests import (
    advance_h2,
    begin_h2,
    end_idle_h2,
    finish_h2_exchange,
    forget_h2_exchange,
    free_h2,
    go_away_h2,
    h2_receive_wish,
    refuse_late_h2,
    reset_stalled,
    trim_h2,
)


@always_inline
def limit_protocols(c: PointerTo[ConnectionState], protocols: HttpProtocols):
    """Sets the protocols of a connection without TLS.

    Args:
        c: The connection, before its first octet.
        protocols: The versions of HTTP that it may speak.
    """
    if protocols == HttpProtocols.ALL:
        return
    if protocols == HttpProtocols.HTTP2:
        begin_h2(c)
    else:
        c[].h1.ignores_preface = True


@always_inline
def advance(c: PointerTo[ConnectionState]) -> Bool:
    """Handles one event of the protocol.

    Args:
        c: The connection.

    Returns:
        False if the connection waits for octets, for room or for its handler.
    """
    if c[].h2:
        return advance_h2(c)
    return advance_h1(c)


@always_inline
def finish_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Ends a request whose response is written.

    Args:
        c: The connection.
        x: The request.
    """
    if c[].h2:
        finish_h2_exchange(c, x)
    else:
        finish_h1_exchange(c, x)


def forget_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Keeps the block of a request for a lost fiber. A connection of HTTP/1.1
    ends.

    Args:
        c: The connection.
        x: The request.
    """
    if c[].h2:
        forget_h2_exchange(c, x)
    else:
        end_at_once(c)
        forget_h1_exchange(c, x)


def refuse_content(x: Exchange, status: Int):
    """Rejects the content of a request in progress.

    Args:
        x: The request.
        status: The status that answers the request, in place of the handler's
            response.
    """
    var c = connection_of(x)
    if c[].h2:
        refuse_h2_content(x, status)
    else:
        refuse_h1_content(c, status)


def refuse_contents(c: PointerTo[ConnectionState], status: Int):
    """Rejects the contents of a connection that are still gathered.

    Args:
        c: The connection, of which a request gathers its content.
        status: The status that answers the requests.
    """
    if c[].h2:
        refuse_h2_contents(c, status)
    else:
        refuse_h1_content(c, status)


def resume_contents(c: PointerTo[ConnectionState]):
    """Resumes the contents of a connection that waited for room.

    Args:
        c: The connection.
    """
    if c[].h2:
        release_all_taken(c)


def refuse_excess(x: Exchange) -> Bool:
    """Rejects the content of a request if its received or announced length
    exceeds the handler's limit.

    Args:
        x: The request, whose handler runs.

    Returns:
        True if the content was rejected.
    """
    var c = connection_of(x)
    if c[].h2:
        return refuse_h2_excess(x)
    return refuse_h1_excess(c, x)


def refuse_late_head(c: PointerTo[ConnectionState]):
    """Refuses a request head that is late, or for which there is no memory.

    Args:
        c: The connection, which has received part of a head.
    """
    if c[].h2:
        refuse_late_h2(c)
    else:
        refuse_late_h1_head(c)


def go_away(c: PointerTo[ConnectionState]):
    """Announces that the connection ends after the requests in progress, or
    after the next one.

    Args:
        c: The connection.
    """
    if c[].h2:
        go_away_h2(c)
    else:
        close_after_exchange(c)


@always_inline
def has_waiting_requests(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether requests wait until less content is unsent.

    Args:
        c: The connection.

    Returns:
        True if `process` may start one.
    """
    return Bool(c[].h2) and c[].h2.unsafe_value()[].waiting > 0


def end_window_wait(c: PointerTo[ConnectionState]):
    """Ends the wait for a window of the client.

    Args:
        c: The connection of HTTP/2.
    """
    reset_stalled(c)


def note_peer_end(c: PointerTo[ConnectionState]):
    """Records that the peer sends no more octets.

    Args:
        c: The connection.
    """
    c[].ending.peer_ended = True
    if not c[].h2:
        note_h1_end(c)


@always_inline
def is_upgraded(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a connection speaks another protocol.

    Args:
        c: The connection.

    Returns:
        True from a 101 on.
    """
    return not c[].h2 and is_upgraded_h1(c)


def end_idle(c: PointerTo[ConnectionState]):
    """Ends a connection that waits for its next request.

    Args:
        c: The connection.
    """
    if c[].h2:
        return end_idle_h2(c)
    # A request that has just set out must not meet a reset, nor must the rest
    # of one, before its peer has read the answer.
    c[].ending.lingers = worker_of(c)[].stopping or is_receiving_request(c)
    end_behind_output(c)


def end_behind_answer(c: PointerTo[ConnectionState]):
    """Drops all further input of a connection of HTTP/1.1, and closes it after
    the response in progress.

    Args:
        c: The connection. One of HTTP/2 goes away.
    """
    if c[].h2:
        go_away_h2(c)
    else:
        end_behind_h1_answer(c)


@always_inline
def receive_wish(c: PointerTo[ConnectionState]) -> ReceiveWish:
    """Returns how a connection should receive now.

    Args:
        c: An open connection.

    Returns:
        The request of its window and its exchanges.
    """
    if c[].h2:
        return h2_receive_wish(c)
    return h1_receive_wish(c)


def note_demand(x: Exchange) -> Bool:
    """Records that a handler waits for content.

    Args:
        x: The request.

    Returns:
        False if the rest happens on the loop: no handler starts on the fiber of
        another one.
    """
    if not connection_of(x)[].h2:
        return True
    release_taken(x)
    return False


def trim_streams(c: PointerTo[ConnectionState]):
    """Frees memory that a connection has not needed lately.

    Args:
        c: The connection.
    """
    if c[].h2:
        trim_h2(c)


def drop_requests(c: PointerTo[ConnectionState]):
    """Frees the memory that a connection keeps for requests, after the last handler.

    Args:
        c: The connection, which ends.
    """
    drop_exchange(c)
    if c[].h2:
        free_h2(c)
