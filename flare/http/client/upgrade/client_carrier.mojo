"""Moves octets between an upgraded stream and the transport of a client.

Each function runs on the fiber that calls the stream. It may park in the
socket: to receive, or to send. No loop calls the protocol, so the protocol
acts only while one of its fibers does.
"""

from flare.core import Buffer, Erased, OctetPointer, PointerTo
from flare.http.exchange import (
    CUT_OFF,
    CarrierFunctions,
    MutOctets,
    NOT_RECEIVED,
    OVER,
    OutputRoom,
    UpgradedFunctions,
)
from flare.http.plain_carrier import (
    aborts_nothing,
    hides_no_client,
    never_held_back,
    takes_no_file,
)
from flare.http.stream_address import StreamAddr
from flare.message import HeaderMap
from flare.net import NetError
from flare.runtime.fiber import Fiber, remove_fiber
from flare.runtime.wait import waiting_fiber
from flare.tls import TlsMachine
from flare.unix import PeerCredentials

from ..transport.clock import now
from .upgrade_state import ClientUpgrade, leave, upgrade_of
from .upgrade_transport import (
    check_transport,
    close_transport,
    drop_octets,
    end_output,
    flush_octets,
    output_of_upgrade,
    receive_octets,
    send_octets,
    unread_octets,
)

comptime _ROOM_OCTETS = 64 * 1024
comptime _KEPT_OCTETS_MAX = 64 * 1024


def carrier_functions() -> CarrierFunctions:
    """Returns the functions of an upgraded exchange.

    Returns:
        The functions.
    """
    return CarrierFunctions(
        _demand,
        _peer_address,
        _peer_credentials,
        hides_no_client,
        _tls,
        _inform,
        _write,
        takes_no_file,
        _end,
        UpgradedFunctions(
            _begin,
            _await_octets,
            _consume_octets,
            _await_room,
            _unsent_octets,
            _announce_output,
            never_held_back,
            aborts_nothing,
        ),
    )


def await_end(u: ClientUpgrade, timeout_ms: Int):
    """Waits until the server ends the connection, drops the octets that
    arrive before, and closes. The upgrade stays, without a connection.

    Args:
        u: The upgrade.
        timeout_ms: The longest wait.
    """
    if u[].is_over:
        return
    var deadline_ms = now() + timeout_ms
    u[].fibers += 1
    try:
        while not u[].has_ended and not u[].is_over:
            drop_octets(u, len(unread_octets(u)))
            receive_octets(u, max(deadline_ms - now(), 0), None)
    except:
        # No octet can follow an error.
        u[].has_ended = True
    if not u[].is_over:
        u[].has_ended = True
        close_transport(u)
    leave(u)


def end_sending(u: ClientUpgrade) raises:
    """Sends the output, then ends the stream to the server.

    Args:
        u: The upgrade; no other fiber sends.

    Raises:
        The error of the transport.
    """
    if u[].is_over:
        return
    _send_rest(u)
    _check_sending(u)
    u[].fibers += 1
    var failure = Optional[Error](None)
    try:
        end_output(u)
    except e:
        failure = e^
    leave(u)
    if failure:
        raise failure.take()


def _await_octets(exchange: Erased, more_than: Int) raises -> MutOctets:
    var u = upgrade_of(exchange)
    while True:
        var octets = unread_octets(u)
        if len(octets) > more_than or more_than < 0 or u[].has_ended:
            return octets
        if u[].exchange[].waiter:
            raise Error("http.busy another fiber reads")
        _send_rest(u)
        _receive(u)


def _receive(u: ClientUpgrade) raises:
    var fiber = waiting_fiber("read")
    u[].exchange[].waiter = fiber
    u[].fibers += 1
    var failure = Optional[Error](None)
    try:
        ref upgrade = u[].exchange[].stream.upgrade
        receive_octets(
            u,
            upgrade.read_timeout_ms,
            Pointer(to=upgrade.read_timeout_ms).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )
    except e:
        failure = e^
    var is_over = u[].is_over
    if not is_over:
        u[].exchange[].waiter = None
    leave(u)
    if is_over:
        raise Error(OVER)
    if failure and not _was_interrupted(failure.value(), fiber):
        raise failure.take()


def _was_interrupted(error: Error, fiber: Fiber) -> Bool:
    # The time of the wait was changed, and the wait begins anew.
    var net = NetError.of(error)
    return (
        Bool(net)
        and net.value().kind == NetError.CANCELLED
        and not fiber.is_cancelled()
    )


def _consume_octets(exchange: Erased, count: Int) raises:
    var u = upgrade_of(exchange)
    if count < 0 or count > len(unread_octets(u)):
        raise Error(NOT_RECEIVED)
    drop_octets(u, count)


def _await_room(exchange: Erased, count: Int) raises -> OutputRoom:
    var u = upgrade_of(exchange)
    _check_sending(u)
    var output = output_of_upgrade(u)
    if count <= 0:
        if len(output[]) < _ROOM_OCTETS:
            _ = output[].reserve(-count)
        return OutputRoom(output, max(_ROOM_OCTETS - len(output[]), 0))
    while len(output[]) >= _ROOM_OCTETS:
        if u[].sending.is_busy:
            _await_sender(u)
        else:
            _send_rest(u)
        _check_sending(u)
    return OutputRoom(output, min(count, _ROOM_OCTETS - len(output[])))


def _await_sender(u: ClientUpgrade) raises:
    var fiber = waiting_fiber("write")
    u[].sending.waiters.append(fiber)
    u[].fibers += 1
    var result = fiber.wait()
    remove_fiber(u[].sending.waiters, fiber)
    var is_over = u[].is_over
    leave(u)
    if is_over:
        raise Error(OVER)
    if result < 0:
        raise Error(NetError.from_errno("write", result))


def _unsent_octets(exchange: Erased) -> Int:
    var u = upgrade_of(exchange)
    if u[].is_over:
        return 0
    return len(output_of_upgrade(u)[]) + len(u[].sending.octets)


def _announce_output(exchange: Erased):
    try:
        _send_rest(upgrade_of(exchange))
    except:
        # The next call of the stream finds that it is over.
        return


def _check_sending(u: ClientUpgrade) raises:
    if u[].sending.failure:
        raise Error(CUT_OFF, ": ", u[].sending.failure.value())
    check_transport(u)


def _send_rest(u: ClientUpgrade) raises:
    # Sends all output, unless another fiber is doing so.
    ref sending = u[].sending
    if sending.is_busy or sending.failure:
        return
    var output = output_of_upgrade(u)
    if len(sending.octets) + len(output[]) == 0:
        return
    sending.is_busy = True
    u[].fibers += 1
    var interruption = Optional[Error](None)
    while _has_unsent(u) and not interruption:
        if len(sending.octets) == 0:
            swap(sending.octets, output[])
        try:
            _send_once(u)
        except e:
            interruption = Error(e)
        sending.wake_all()
    if len(sending.octets) == 0 and sending.octets.capacity() > (
        _KEPT_OCTETS_MAX
    ):
        u[].sending.octets = Buffer()
    sending.is_busy = False
    sending.wake_all()
    var is_over = u[].is_over
    leave(u)
    if is_over:
        raise Error(OVER)
    if interruption:
        raise interruption.take()


def _has_unsent(u: ClientUpgrade) -> Bool:
    if u[].is_over or u[].sending.failure:
        return False
    return len(u[].sending.octets) > 0 or len(output_of_upgrade(u)[]) > 0


def _send_once(u: ClientUpgrade) raises:
    """Sends octets. It raises an error if only this fiber has to stop: another
    one then sends the rest.
    """
    var began_ms = now()
    try:
        var octets = u[].sending.octets.span()
        var count = send_octets(
            u,
            Span[UInt8, ImmUntrackedOrigin](
                unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                    ImmUntrackedOrigin
                ](),
                length=len(octets),
            ),
        )
        u[].sending.octets.consume(count)
        if not _has_unsent(u):
            flush_octets(u)
    except e:
        var net = NetError.of(e)
        if net and (
            net.value().kind == NetError.CANCELLED
            or (
                net.value().kind == NetError.TIMEOUT
                and now() - began_ms < u[].sending.write_ms
            )
        ):
            raise e
        u[].sending.failure = Error(e)


def _demand(exchange: Erased):
    pass


def _peer_address(exchange: Erased) raises -> StreamAddr:
    raise Error(NetError(NetError.UNSUPPORTED, "peer_address"))


def _peer_credentials(exchange: Erased) raises -> PeerCredentials:
    raise Error(NetError(NetError.UNSUPPORTED, "peer_credentials"))


def _tls(exchange: Erased) -> Optional[PointerTo[TlsMachine]]:
    return None


def _inform(exchange: Erased, status: Int, fields: PointerTo[HeaderMap]) raises:
    raise Error(OVER)


def _write(exchange: Erased, octets: OctetPointer, count: Int) raises -> Int:
    raise Error(OVER)


def _begin(exchange: Erased) raises:
    raise Error(OVER)


def _end(exchange: Erased) raises:
    raise Error(OVER)
