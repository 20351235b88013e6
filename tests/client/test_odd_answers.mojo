"""Tests what a client makes of answers that are written oddly, or are long."""

from flare.http import ClientError, HttpClient

from tests.asserting import assert_equal
from tests.client.stand import OK_ANSWER, Ending, Reply, Stand
from tests.tcp.loops import on_each_backend

comptime _HEAD: StaticString = "HTTP/1.1 200 OK\r\n"
comptime _CHUNKED: StaticString = (
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def test_an_odd_answer_is_shown_in_its_clean_form() raises:
    on_each_backend(_odd_answers)


def test_heads_as_long_as_other_clients_read_are_read_by_default() raises:
    on_each_backend(_long_heads)


def _odd_answers() raises:
    for row in _odd_rows():
        # It is the client who closes: where the next response would begin is
        # in doubt.
        var stand = Stand(
            [
                Reply(row[1], Ending.HOLD),
                Reply(String(OK_ANSWER), Ending.KEEP),
            ]
        )
        var client = HttpClient(stand.url())
        var answer = client.get("/")
        assert_equal(answer.text(), "abc", row[0])
        var has_coding = row[1].find("Transfer-Encoding") >= 0
        var lengths = answer.headers.count("Content-Length")
        assert_equal(lengths, 0 if has_coding else 1, row[0])
        if lengths == 1:
            assert_equal(answer.headers.get("Content-Length").value(), "3")
        if "X-A" in answer.headers:
            assert_equal(answer.headers.get("X-A").value(), "1 2")
        assert_equal(client.get("/").text(), "ok", row[0])
        assert_equal(stand.connections(), 2, row[0])
        stand^.join()


def _long_heads() raises:
    comptime LENGTH: StaticString = "Content-Length: 2\r\n"
    # 256 KiB with line ends and 1,000 lines, among them one of nearly all.
    var rest = 256 * 1024 - LENGTH.byte_length() - 998 * 6 - 6
    var head = String(
        _HEAD, LENGTH, "A: b\r\n" * 998, "X:", "x" * (rest + 1), "\r\n"
    )
    assert_equal(
        head.byte_length() - StaticString(_HEAD).byte_length(), 256 * 1024 - 1
    )
    var rows: List[Tuple[String, String]] = [
        ("the longest", String(head, "\r\nok")),
        ("the longest with bare LF", String(head.replace("\r", ""), "\nok")),
    ]
    for row in rows:
        var stand = Stand([Reply(row[1], Ending.CLOSE)])
        var answer = HttpClient(stand.url()).get("/")
        assert_equal(answer.text(), "ok", row[0])
        assert_equal(len(answer.headers), 1_000, row[0])
        assert_equal(answer.headers.count("A"), 998, row[0])
        assert_equal(
            answer.headers.get("X").value().byte_length(), rest + 1, row[0]
        )
        stand^.join()
    var long_rows: List[String] = [
        String(_HEAD, "A: b\r\n" * 1_001, "\r\n"),
        String(_HEAD, "X: ", "x" * (256 * 1024), "\r\n\r\n"),
    ]
    for octets in long_rows:
        var stand = Stand([Reply(octets, Ending.CLOSE)])
        try:
            _ = HttpClient(stand.url()).get("/")
        except e:
            assert_equal(ClientError.of(e).value().kind, ClientError.TOO_LARGE)
            stand^.join()
            continue
        raise Error("a head over the limit was read")


def _odd_rows() -> List[Tuple[String, String]]:
    """Makes answers of `abc` that only a client may read.

    Returns:
        A name and the octets of each.
    """
    var rows: List[Tuple[String, String]] = []
    comptime LENGTH: StaticString = "Content-Length: 3\r\n"
    comptime CODING: StaticString = "Transfer-Encoding: chunked\r\n"
    rows.append(
        ("a fold", String(_HEAD, "X-A: 1\r\n  2\r\n", LENGTH, "\r\nabc"))
    )
    rows.append(("bare LF", "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc"))
    rows.append(
        ("equal lengths", String(_HEAD, LENGTH, "A: b\r\n", LENGTH, "\r\nabc"))
    )
    rows.append(
        (
            "equal lengths in a list",
            String(_HEAD, "Content-Length: 3, 3\r\n\r\nabc"),
        )
    )
    rows.append(
        (
            "a length beside chunks",
            String(_HEAD, LENGTH, CODING, "\r\n3\r\nabc\r\n0\r\n\r\n"),
        )
    )
    rows.append(
        (
            "another length beside chunks",
            String(
                _HEAD,
                CODING,
                "Content-Length: 9\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            ),
        )
    )
    rows.append(
        (
            "blanks behind a chunk size",
            String(_CHUNKED, "3  \r\nabc\r\n0 \r\n\r\n"),
        )
    )
    rows.append(
        ("chunks with bare LF", String(_CHUNKED, "3\nabc\n0\nT: 1\n\n"))
    )
    return rows^


comptime TESTS = __functions_in_module()
