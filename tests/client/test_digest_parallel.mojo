"""Tests that calls beside each other share the challenges of one account."""

from flare.http import DigestAuth, HttpClient
from flare.net import SocketAddr
from flare.tcp import TcpListener, TcpStream

from tests.asserting import assert_equal, assert_true
from tests.client.stand import OK_ANSWER, read_request
from tests.tcp.loops import on_each_backend


def test_calls_beside_each_other_count_the_nonce_they_share() raises:
    on_each_backend(_share)


def test_a_nonce_goes_on_being_counted_behind_a_refusal() raises:
    on_each_backend(_count_on)


def test_an_old_challenge_does_not_replace_the_one_of_a_call_beside_it() raises:
    on_each_backend(_keep)


def test_who_answered_the_challenge_of_another_in_vain_answers_its_own() raises:
    on_each_backend(_answer_own)


struct _Talk(Movable):
    # Two calls at a time; the test says in which order they are answered.
    var listener: TcpListener
    var client: HttpClient
    var first: TcpStream
    var second: TcpStream

    def __init__(out self) raises:
        self.listener = TcpListener.bind(SocketAddr.localhost(0))
        self.client = HttpClient(
            String("http://127.0.0.1:", self.listener.local_address().port),
            DigestAuth("me", "secret"),
        )
        # Both have connected before either is answered.
        var one = self.client.start("GET", "/")
        self.first = self.listener.accept()
        var two = self.client.start("GET", "/")
        self.second = self.listener.accept()
        _ = read_request(self.first)
        _ = read_request(self.second)
        _challenge(self.first, "shared")
        _expect(read_request(self.first), "shared", 1)
        _challenge(self.second, "shared")
        _expect(read_request(self.second), "shared", 2)
        self.first.write_all(OK_ANSWER.as_bytes())
        self.second.write_all(OK_ANSWER.as_bytes())
        assert_equal(one^.join().status, 200)
        assert_equal(two^.join().status, 200)


def _share() raises:
    var talk = _Talk()
    var one = talk.client.start("GET", "/")
    var two = talk.client.start("GET", "/")
    var counts = List[Int]()
    for request in [read_request(talk.first), read_request(talk.second)]:
        for count in range(3, 5):
            if _shows(request, "shared", count):
                counts.append(count)
    assert_equal(len(counts), 2)
    assert_true(counts[0] != counts[1])
    talk.second.write_all(OK_ANSWER.as_bytes())
    talk.first.write_all(OK_ANSWER.as_bytes())
    assert_equal(one^.join().status, 200)
    assert_equal(two^.join().status, 200)


def _count_on() raises:
    var talk = _Talk()
    var one = talk.client.start("GET", "/")
    var two = talk.client.start("GET", "/")
    _ = read_request(talk.first)
    _ = read_request(talk.second)
    _challenge(talk.first, "shared")
    _challenge(talk.second, "shared")
    assert_equal(one^.join().status, 401)
    assert_equal(two^.join().status, 401)
    # The next calls begin without a proof, and are given the same nonce.
    var three = talk.client.start("GET", "/")
    var four = talk.client.start("GET", "/")
    assert_true("Authorization" not in read_request(talk.first))
    assert_true("Authorization" not in read_request(talk.second))
    _challenge(talk.first, "shared")
    _expect(read_request(talk.first), "shared", 5)
    _challenge(talk.second, "shared")
    _expect(read_request(talk.second), "shared", 6)
    talk.first.write_all(OK_ANSWER.as_bytes())
    talk.second.write_all(OK_ANSWER.as_bytes())
    assert_equal(three^.join().status, 200)
    assert_equal(four^.join().status, 200)


def _keep() raises:
    var talk = _Talk()
    var one = talk.client.start("GET", "/")
    var two = talk.client.start("GET", "/")
    _ = read_request(talk.first)
    _ = read_request(talk.second)
    _challenge(talk.first, "fresh", ", stale=true")
    _expect(read_request(talk.first), "fresh", 1)
    # On its way since before the other one was made.
    _challenge(talk.second, "old", ", stale=true")
    _expect(read_request(talk.second), "fresh", 2)
    talk.first.write_all(OK_ANSWER.as_bytes())
    talk.second.write_all(OK_ANSWER.as_bytes())
    assert_equal(one^.join().status, 200)
    assert_equal(two^.join().status, 200)


def _answer_own() raises:
    # A nonce of this server is good for one request.
    var talk = _Talk()
    var one = talk.client.start("GET", "/")
    var two = talk.client.start("GET", "/")
    _ = read_request(talk.first)
    _ = read_request(talk.second)
    _challenge(talk.first, "fresh", ", stale=true")
    _challenge(talk.second, "own", ", stale=true")
    _expect(read_request(talk.first), "fresh", 1)
    _expect(read_request(talk.second), "fresh", 2)
    _challenge(talk.second, "last", ", stale=true")
    _expect(read_request(talk.second), "last", 1)
    talk.first.write_all(OK_ANSWER.as_bytes())
    talk.second.write_all(OK_ANSWER.as_bytes())
    assert_equal(one^.join().status, 200)
    assert_equal(two^.join().status, 200)


def _challenge(
    stream: TcpStream, nonce: StringSlice, more: StringSlice = ""
) raises:
    var answer = String(
        "HTTP/1.1 401 X\r\nContent-Length: 2\r\n",
        'WWW-Authenticate: Digest realm="r", qop="auth", nonce="',
        nonce,
        '"',
        more,
        "\r\n\r\nno",
    )
    stream.write_all(answer.as_bytes())


def _shows(request: String, nonce: StringSlice, count: Int) -> Bool:
    return (
        String('nonce="', nonce, '"') in request
        and String("nc=0000000", count) in request
    )


def _expect(request: String, nonce: StringSlice, count: Int) raises:
    assert_true(_shows(request, nonce, count), request)


comptime TESTS = __functions_in_module()
