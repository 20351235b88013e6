"""Tests for `flare.tls.machine`: two ends in memory, whole and in pieces."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.tls import TlsContext, TlsError, TlsMachine, TlsStep
from flare.tls.machine import OUTPUT_OCTETS_MAX
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import pattern
from tests.tls.certificates import client_config, path_of, server_config
from tests.tls.pair import Pair, assert_joined, joined, text_of, written


def test_two_ends_shake_hands_and_talk() raises:
    var pair = joined(client_config(), server_config())
    assert_joined(pair)
    assert_equal(pair.client.machine.version(), "TLSv1.3")
    assert_equal(pair.client.machine.cipher(), pair.server.machine.cipher())
    assert_true("GCM" in pair.client.machine.cipher())
    assert_equal(pair.server.machine.server_name().value(), "localhost")
    written(pair.client.machine, "question")
    written(pair.server.machine, "answer")
    pair.run()
    assert_equal(text_of(pair.server.plaintext), "question")
    assert_equal(text_of(pair.client.plaintext), "answer")


def test_the_result_does_not_depend_on_the_pieces() raises:
    # Piece by piece of one size, which splits every record at many places.
    for piece_octets in [1, 2, 3, 4, 5, 6, 7, 11, 64, 1000]:
        var pair = joined(
            client_config(), server_config(), piece_octets=piece_octets
        )
        assert_joined(pair)
        written(pair.client.machine, "question")
        pair.run()
        written(pair.server.machine, "answer")
        pair.server.machine.close()
        pair.run()
        assert_equal(text_of(pair.server.plaintext), "question")
        assert_equal(text_of(pair.client.plaintext), "answer")
        assert_true(pair.client.has_ended, String(piece_octets))


def test_a_flight_split_in_two_at_every_octet_is_read() raises:
    var clients = TlsContext.for_clients(client_config())
    var servers = TlsContext.for_servers(server_config())
    var at = 0
    while True:
        # The first flight of the client, in two pieces.
        var client = TlsMachine.client(clients, "localhost")
        var server = TlsMachine.server(servers)
        _ = client.handshake(Span[UInt8, ImmUntrackedOrigin]())
        var flight = List[UInt8]()
        flight.extend(client.output())
        if at > len(flight):
            return
        var step = server.handshake(Span(flight)[0:at])
        assert_equal(step.consumed, at)
        if at < len(flight):
            assert_equal(step.kind, TlsStep.NEED_OCTETS)
            step = server.handshake(Span(flight)[at : len(flight)])
        assert_equal(step.kind, TlsStep.HAS_OCTETS)
        at += 1


def test_a_record_split_in_two_at_every_octet_is_read() raises:
    var pair = joined(client_config(), server_config())
    assert_joined(pair)
    var into = List[UInt8](length=64, fill=0)
    var length = 1
    var at = 0
    while at <= length:
        written(pair.client.machine, "hello")
        var record = List[UInt8]()
        record.extend(pair.client.machine.output())
        pair.client.machine.sent(len(record))
        length = len(record)
        var step = pair.server.machine.read(Span(record)[0:at], Span(into))
        assert_equal(step.consumed, at)
        if at < length:
            assert_equal(step.kind, TlsStep.NEED_OCTETS)
            step = pair.server.machine.read(Span(record)[at:length], Span(into))
        assert_equal(step.kind, TlsStep.DATA)
        assert_equal(step.count, 5)
        at += 1


def test_a_small_read_leaves_the_rest_for_the_next() raises:
    var pair = joined(client_config(), server_config())
    written(pair.client.machine, "abcdef")
    var record = List[UInt8]()
    record.extend(pair.client.machine.output())
    var into = List[UInt8](length=4, fill=0)
    var step = pair.server.machine.read(Span(record), Span(into))
    assert_equal(step.count, 4)
    assert_equal(step.consumed, len(record))
    step = pair.server.machine.read(
        Span[UInt8, ImmUntrackedOrigin](), Span(into)
    )
    assert_equal(step.kind, TlsStep.DATA)
    assert_equal(step.count, 2)
    assert_equal(into[0], 101)


def test_much_is_encrypted_as_far_as_the_output_allows() raises:
    var pair = joined(client_config(), server_config())
    var octets = pattern(1_000_000)
    var taken = 0
    while taken < len(octets):
        var count = pair.client.machine.write(Span(octets)[taken : len(octets)])
        assert_true(count > 0)
        taken += count
        assert_true(
            pair.client.machine.pending() < OUTPUT_OCTETS_MAX + 17 * 1024
        )
        if taken < len(octets):
            assert_equal(pair.client.machine.write("x".as_bytes()), 0)
        pair.run()
    assert_true(pair.server.plaintext == octets)


def test_an_end_that_was_announced_is_clean() raises:
    var pair = joined(client_config(), server_config())
    pair.client.machine.close()
    pair.client.machine.close()
    pair.run()
    assert_true(pair.server.has_ended)
    pair.server.machine.receive_end()
    # The other direction goes on (RFC 8446 section 6.1).
    written(pair.server.machine, "last words")
    pair.run()
    assert_equal(text_of(pair.client.plaintext), "last words")
    var kind = -1
    try:
        _ = pair.client.machine.write("x".as_bytes())
    except e:
        kind = e.kind
    assert_equal(kind, TlsError.CLOSED)


def test_an_end_without_a_word_is_truncated() raises:
    var pair = joined(client_config(), server_config())
    written(pair.client.machine, "half")
    pair.run()
    assert_equal(_end_of(pair.server.machine), "tls.truncated read")
    assert_equal(_end_of(pair.server.machine), "tls.truncated read")
    var context = TlsContext.for_servers(server_config())
    var machine = TlsMachine.server(context)
    assert_equal(_end_of(machine), "tls.truncated handshake")


def test_nothing_is_read_or_written_before_the_handshake() raises:
    var context = TlsContext.for_servers(server_config())
    var machine = TlsMachine.server(context)
    var into = List[UInt8](length=8, fill=0)
    var kinds = List[Int]()
    try:
        _ = machine.write("x".as_bytes())
    except e:
        kinds.append(e.kind)
    try:
        _ = machine.read("x".as_bytes(), Span(into))
    except e:
        kinds.append(e.kind)
    assert_true(kinds == [TlsError.CLOSED, TlsError.CLOSED])
    machine.close()
    assert_equal(machine.pending(), 0)


def test_output_that_was_handed_over_stays_while_more_is_written() raises:
    var pair = joined(client_config(), server_config())
    written(pair.client.machine, "first")
    var sending = heap_create(Buffer())
    pair.client.machine.exchange_output(sending)
    assert_equal(pair.client.machine.pending(), 0)
    var before = List(sending[].span())
    written(pair.client.machine, "second")
    assert_true(List(sending[].span()) == before)
    pair.server.window.extend(sending[].span())
    pair.run()
    assert_equal(text_of(pair.server.plaintext), "firstsecond")
    heap_destroy(sending)
    pair.client.machine.release_output()


def test_an_empty_write_says_nothing() raises:
    var pair = joined(client_config(), server_config())
    assert_equal(pair.client.machine.write("".as_bytes()), 0)
    assert_equal(pair.client.machine.pending(), 0)


def test_a_changed_octet_in_a_record_ends_the_connection() raises:
    var pair = joined(client_config(), server_config())
    written(pair.client.machine, "hello")
    var record = List[UInt8]()
    record.extend(pair.client.machine.output())
    record[len(record) - 1] ^= 1
    var into = List[UInt8](length=64, fill=0)
    for _ in range(2):
        var kind = -1
        try:
            _ = pair.server.machine.read(Span(record), Span(into))
        except e:
            kind = e.kind
        assert_equal(kind, TlsError.PROTOCOL)
    # The peer is told.
    assert_true(pair.server.machine.pending() > 0)
    pair.run()
    assert_equal(pair.client.error.value().kind, TlsError.ALERT)
    assert_equal(pair.client.error.value().alert, 20)


def test_records_that_break_the_rules_end_either_end() raises:
    var rows = _broken_records()
    # Before the handshake is complete a client must pass over it (RFC 5246
    # section 7.4.1.1).
    rows.append(_Record("HelloRequest", [22, 3, 3, 0, 4, 0, 0, 0, 0]))
    for is_server in [False, True]:
        for row in rows:
            var pair = joined(client_config(), server_config())
            assert_joined(pair)
            ref end = pair.server if is_server else pair.client
            end.window = row.octets.copy()
            end.turn()
            assert_true(Bool(end.error), row.what)
            assert_equal(end.error.value().kind, TlsError.PROTOCOL, row.what)
            assert_equal(len(end.plaintext), 0)
            # The peer is told.
            assert_true(end.machine.pending() > 0, row.what)


def test_records_that_break_the_rules_end_the_handshake_of_a_client() raises:
    var clients = TlsContext.for_clients(client_config())
    for row in _broken_records():
        var machine = TlsMachine.client(clients, "localhost")
        var kind = -1
        try:
            _ = machine.handshake(Span(row.octets))
        except e:
            kind = e.kind
        assert_equal(kind, TlsError.PROTOCOL, row.what)


def test_an_end_within_a_record_is_truncated() raises:
    for is_server in [False, True]:
        for kept in [1, 5, 6, 20]:
            var pair = joined(client_config(), server_config())
            ref sender = pair.client if is_server else pair.server
            ref reader = pair.server if is_server else pair.client
            # Even if the sender ends in order: its word was cut off.
            written(sender.machine, "whole")
            sender.machine.close()
            reader.window = List(sender.machine.output()[0:kept])
            reader.turn()
            assert_false(Bool(reader.error))
            assert_equal(len(reader.plaintext), 0)
            assert_equal(_end_of(reader.machine), "tls.truncated read")


def test_application_protocols_are_agreed_on() raises:
    var rows: List[Tuple[String, String, String]] = [
        ("h2,http/1.1", "http/1.1,h2", "http/1.1"),
        ("h2", "h2,http/1.1", "h2"),
        ("h2", "", ""),
        ("", "h2", ""),
        ("spdy", "h2", "refused"),
    ]
    for row in rows:
        var client = client_config()
        var server = server_config()
        if row[0]:
            for name in row[0].split(","):
                client.application_protocols.append(String(name))
        if row[1]:
            for name in row[1].split(","):
                server.application_protocols.append(String(name))
        var pair = joined(client, server)
        if row[2] == "refused":
            assert_equal(
                pair.server.error.value().kind,
                TlsError.NO_APPLICATION_PROTOCOL,
            )
            assert_equal(
                pair.client.error.value().kind,
                TlsError.NO_APPLICATION_PROTOCOL,
            )
            continue
        assert_joined(pair)
        for protocol in [
            pair.client.machine.application_protocol(),
            pair.server.machine.application_protocol(),
        ]:
            assert_equal(protocol.copy().or_else(""), row[2])


def test_a_session_makes_the_next_handshake_short() raises:
    var clients = TlsContext.for_clients(client_config())
    var servers = TlsContext.for_servers(server_config())
    var first = Pair(
        TlsMachine.client(clients, "localhost"), TlsMachine.server(servers)
    )
    first.run()
    assert_joined(first)
    assert_false(first.client.machine.is_resumed())
    var taken = first.client.machine.take_session()
    assert_true(Bool(taken))
    assert_false(Bool(first.client.machine.take_session()))
    first.client.machine.close()
    var session = heap_create(taken.take())
    var rows: List[Tuple[String, Bool]] = [
        ("localhost", True),
        ("server.test", False),
    ]
    for row in rows:
        var pair = Pair(
            TlsMachine.client(clients, row[0], session),
            TlsMachine.server(servers),
        )
        pair.run()
        assert_joined(pair)
        assert_equal(pair.client.machine.is_resumed(), row[1], row[0])
        assert_equal(pair.server.machine.is_resumed(), row[1], row[0])
    # Not only the server sees to that.
    assert_true(session[].is_for(clients.generation(), "localhost"))
    assert_false(session[].is_for(clients.generation(), "server.test"))
    # What another context has checked counts for nothing here.
    var others = TlsContext.for_clients(client_config())
    assert_false(session[].is_for(others.generation(), "localhost"))
    var pair = Pair(
        TlsMachine.client(others, "localhost", session),
        TlsMachine.server(servers),
    )
    pair.run()
    assert_false(pair.client.machine.is_resumed())
    heap_destroy(session)


def test_a_server_may_give_no_tickets() raises:
    var server = server_config()
    server.gives_tickets = False
    var clients = TlsContext.for_clients(client_config())
    var servers = TlsContext.for_servers(server)
    var first = Pair(
        TlsMachine.client(clients, "localhost"), TlsMachine.server(servers)
    )
    first.run()
    assert_joined(first)
    var taken = first.client.machine.take_session()
    if not taken:
        return
    first.client.machine.close()
    var session = heap_create(taken.take())
    var second = Pair(
        TlsMachine.client(clients, "localhost", session),
        TlsMachine.server(servers),
    )
    second.run()
    assert_joined(second)
    assert_false(second.client.machine.is_resumed())
    heap_destroy(session)


def test_keys_are_kept_only_where_the_configuration_says_so() raises:
    var client = client_config()
    var pair = joined(client, server_config())
    assert_equal(pair.client.machine.dangerous_keys(), "")
    client.dangerously_keep_keys = True
    pair = joined(client, server_config())
    var keys = pair.client.machine.dangerous_keys()
    assert_true("CLIENT_TRAFFIC_SECRET_0 " in keys, keys)
    assert_true(keys.endswith("\n"))


def test_a_status_is_stapled_for_who_asks() raises:
    var server = server_config()
    var status = path_of("status.der")
    server.identities[0].status_path = status
    var octets: List[UInt8]
    with open(status, "r") as file:
        octets = file.read_bytes()
    var client = client_config()
    var pair = joined(client, server)
    assert_equal(len(pair.client.machine.status_response()), 0)
    client.asks_for_status = True
    pair = joined(client, server)
    assert_joined(pair)
    assert_true(len(octets) > 100)
    assert_true(pair.client.machine.status_response() == octets)
    pair = joined(client, server_config())
    assert_joined(pair)
    assert_equal(len(pair.client.machine.status_response()), 0)


def _end_of(machine: TlsMachine) -> String:
    try:
        machine.receive_end()
    except e:
        var text = String(e)
        return String(text[byte = 0 : text.find(": ")])
    return "a clean end"


@fieldwise_init
struct _Record(Copyable):
    var what: StaticString
    var octets: List[UInt8]


def _broken_records() -> List[_Record]:
    var giant: List[UInt8] = [23, 3, 3, 0xFF, 0xFF]
    giant.extend(Span(pattern(70_000)))
    # One octet over what a record of TLS 1.3 may hold (RFC 8446 section 5.2).
    var long: List[UInt8] = [23, 3, 3, 0x41, 0x01]
    long.extend(Span(pattern(0x4101)))
    var short: List[UInt8] = [23, 3, 3, 0, 8]
    short.extend(Span(pattern(8)))
    return [
        _Record("giant", giant^),
        _Record("one octet too long", long^),
        _Record("too short for its tag", short^),
        _Record("empty", [23, 3, 3, 0, 0]),
        _Record("a heartbeat", [24, 3, 3, 0, 3, 1, 0x40, 0]),
        _Record("an unknown type", [99, 3, 3, 0, 1, 0]),
    ]


comptime TESTS = __functions_in_module()
