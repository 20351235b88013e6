"""Lets contents wait for the room that others hold."""

from flare.runtime.backends.simulated_network import Peer

from tests.asserting import assert_equal, assert_true

from .budget_server import (
    BUDGET,
    CONTENT_OCTETS,
    OVERSHOOT,
    budget_server,
    end_all,
    fill_with_answers,
    fill_with_contents,
    get_request,
    octets_held,
    text_of,
    upload_request,
)


def test_uploads_that_each_hold_a_part_all_get_through() raises:
    var server = budget_server()
    var peers = List[Peer]()
    var held_max = 0
    for _ in range(30):
        var peer = server.connect()
        peer.send(upload_request(CONTENT_OCTETS, 200_000))
        peers.append(peer)
        server.settle()
        held_max = max(held_max, octets_held(server))
    assert_true(held_max <= BUDGET, String(held_max))
    var answers = List[String]()
    for peer in peers:
        peer.send(String("x") * (CONTENT_OCTETS - 200_000))
        server.settle()
        held_max = max(held_max, octets_held(server))
        answers.append(text_of(peer.received()))
    assert_true(held_max <= BUDGET + OVERSHOOT, String(held_max))
    # Those before free the room that the others wait for.
    for i in range(len(peers)):
        answers[i] += text_of(peers[i].received())
        assert_true(
            answers[i].startswith("HTTP/1.1 200"), String(i, answers[i])
        )
        assert_true(answers[i].endswith("500000"), answers[i])
    assert_equal(octets_held(server), 0)
    assert_equal(len(server.worker.state[].budget.waiting), 0)
    end_all(server^, peers)


def test_other_requests_are_answered_while_uploads_wait() raises:
    var server = budget_server()
    var peers = fill_with_contents(server)
    var other = server.connect()
    other.send(get_request("/"))
    server.settle()
    assert_true(text_of(other.received()).startswith("HTTP/1.1 200"))
    peers.append(other)
    end_all(server^, peers)


def test_contents_that_stop_make_room_for_those_that_come() raises:
    var server = budget_server()
    # Faster than is asked, as long as it lasts.
    var steady = server.connect()
    steady.send(upload_request(CONTENT_OCTETS, 300_000))
    server.settle()
    var silent = fill_with_contents(server)
    var dribbler = silent.pop()
    # Slow because its handler is.
    var sipped = server.connect()
    sipped.send(upload_request(200_000, 200_000).replace("/whole", "/sipped"))
    server.settle()
    var late = server.connect()
    late.send(upload_request(CONTENT_OCTETS, CONTENT_OCTETS))
    server.settle()
    assert_equal(text_of(late.received()), "")
    for i in range(80):
        if i < 36:
            steady.send(String("x") * 5_500)
        dribbler.send(String("x") * 100)
        server.advance(100)
    steady.send(String("x") * 2_000)
    server.settle()
    var answer = text_of(steady.received())
    assert_true(answer.endswith("500000"), answer)
    assert_true(text_of(late.received()).endswith("500000"))
    assert_true(
        octets_held(server) <= BUDGET // 4 * 3, String(octets_held(server))
    )
    server.advance(8_000)
    assert_true(text_of(sipped.received()).endswith("200000"))
    var shed = 0
    for peer in silent:
        var answer = text_of(peer.received())
        if answer != "":
            assert_true(answer.startswith("HTTP/1.1 503"), answer)
            assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
            shed += 1
    # Those whose parts find room are not in the way of others.
    assert_true(shed > 0 and shed < len(silent), String(shed))
    silent.append(steady)
    silent.append(late)
    silent.append(sipped)
    silent.append(dribbler)
    end_all(server^, silent)


def test_contents_that_wait_too_long_are_503_the_latest_first() raises:
    var server = budget_server()
    var peers = List[Peer]()
    # Each is complete, and its handler takes its time.
    for _ in range(6):
        var peer = server.connect()
        peer.send(
            upload_request(CONTENT_OCTETS, CONTENT_OCTETS).replace(
                "/whole", "/held"
            )
        )
        server.settle()
        peers.append(peer)
    # It is favoured, and fast enough to stay so.
    var favoured = server.connect()
    favoured.send(upload_request(900_000, 200_000))
    server.settle()
    peers.append(favoured)
    for peer in fill_with_contents(server):
        peers.append(peer)
    # Longer than `overload_timeout_ms`, shorter than `body_timeout_ms`.
    for i in range(59):
        favoured.send(String("x") * 10_000)
        server.advance(100)
        if i == 48:
            for peer in peers:
                assert_equal(text_of(peer.received()), "")
    var served = len(peers)
    for i in range(len(peers)):
        var answer = text_of(peers[i].received())
        if answer == "":
            assert_equal(served, len(peers), "an earlier one was refused")
            continue
        served = min(served, i)
        assert_true(answer.startswith("HTTP/1.1 503"), answer)
        assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
    assert_true(served >= 7 and served < len(peers), String(served))
    server.advance(10_000)
    for i in range(6):
        assert_true(text_of(peers[i].received()).endswith("500000"), String(i))
    end_all(server^, peers)


def test_content_over_the_whole_budget_is_413_at_once() raises:
    for octets in [3 * 1024 * 1024, 3 * 1024 * 1024 + 1]:
        var server = budget_server()
        var peer = server.connect()
        peer.send(upload_request(octets, 0))
        server.settle()
        var answer = text_of(peer.received())
        if octets == 3 * 1024 * 1024:
            assert_equal(answer, "")
        else:
            assert_true(answer.startswith("HTTP/1.1 413"), answer)
        end_all(server^, [peer])
    # Bit by bit it takes no room.
    var server = budget_server()
    var peer = server.connect()
    var octets = 4 * 1024 * 1024
    peer.send(upload_request(octets, octets).replace("/whole", "/pieces"))
    assert_true(text_of(server.receive(peer)).endswith("4194304"))
    end_all(server^, [peer])


def test_streams_of_another_protocol_wait_for_room_and_hold_no_loop() raises:
    var server = budget_server()
    var peers = List[Peer]()
    for _ in range(60):
        var peer = server.connect()
        peer.send(
            "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: echo\r\n\r\n"
        )
        server.settle()
        peers.append(peer)
    # Nobody reads what comes back.
    for _ in range(3):
        for peer in peers:
            peer.send(String("x") * 100_000)
        server.settle()
    assert_true(octets_held(server) > BUDGET, String(octets_held(server)))
    assert_true(
        len(server.worker.state[].budget.waiting) <= 2 * len(peers),
        String(len(server.worker.state[].budget.waiting)),
    )
    for peer in peers:
        peer.reset()
    server.settle()
    assert_equal(octets_held(server), 0)
    end_all(server^, [])


def test_answer_counts_though_what_stands_behind_its_request_waits() raises:
    var server = budget_server()
    var peer = server.connect()
    peer.send(get_request("/slow").replace("GET", "PUT"))
    server.settle()
    peer.send("GET /oth")
    server.settle()
    peer.send("er HTTP/1.1\r\nHo")
    var readers = fill_with_answers(server)
    # Longer than `overload_timeout_ms`.
    server.advance(8_000)
    for _ in range(20):
        server.advance(100)
    var answer = text_of(peer.received())
    assert_true(answer.startswith("HTTP/1.1 200"), answer)
    assert_true(answer.endswith("slow"), answer)
    for reader in readers:
        reader.reset()
    server.settle()
    end_all(server^, [peer])


def test_who_waits_and_holds_much_is_refused_first() raises:
    var server = budget_server()
    var heavy = server.connect()
    heavy.send(upload_request(CONTENT_OCTETS, 300_000))
    server.settle()
    var peers = List[Peer]()
    for _ in range(5):
        var peer = server.connect()
        peer.send(
            upload_request(CONTENT_OCTETS, CONTENT_OCTETS).replace(
                "/whole", "/held"
            )
        )
        server.settle()
        peers.append(peer)
    # It is favoured, and fast enough to stay so.
    var favoured = server.connect()
    favoured.send(upload_request(900_000, 200_000))
    server.settle()
    heavy.send("x")
    server.settle()
    for peer in fill_with_contents(server):
        peers.append(peer)
    var answer = String()
    for _ in range(60):
        favoured.send(String("x") * 10_000)
        server.advance(100)
        answer = text_of(heavy.received())
        if answer != "":
            break
    assert_true(answer.startswith("HTTP/1.1 503"), answer)
    for peer in peers:
        assert_true(not text_of(peer.received()).startswith("HTTP/1.1 503"))
    peers.append(heavy)
    peers.append(favoured)
    end_all(server^, peers)


def test_connection_stands_in_line_once() raises:
    var server = budget_server()
    var readers = fill_with_answers(server)
    var peer = server.connect()
    peer.send(get_request("/short").replace("GET", "PUT"))
    server.settle()
    peer.send("GET /oth")
    server.settle()
    peer.send("er HTTP/1.1\r\nHo")
    server.settle()
    assert_equal(len(server.worker.state[].budget.waiting), 1)
    # The handler ends, and what stands behind its request waits anew.
    server.advance(60)
    assert_equal(len(server.worker.state[].budget.waiting), 1)
    peer.send("st: a\r\n\r\n")
    for reader in readers:
        reader.reset()
    server.settle()
    assert_equal(len(server.worker.state[].budget.waiting), 0)
    var answers = text_of(peer.received())
    assert_equal(answers.count("HTTP/1.1 200"), 2, answers)
    end_all(server^, [peer])


comptime TESTS = __functions_in_module()
