"""Tests that a client tells what became of its calls."""

from std.ffi import _Global
from std.testing import assert_raises

from flare.http import (
    CallLog,
    CallRecord,
    ClientConfig,
    ClientError,
    DecodingLimits,
    HttpClient,
    MultipartForm,
    Request,
    RetryPolicy,
)
from flare.io import MemoryReader, Reader

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import (
    CONTINUE,
    OK_ANSWER,
    Ending,
    Reply,
    Stand,
    ok_answers,
    redirect_to,
)
from tests.tcp.loops import octets_of, on_each_backend


def test_every_kind_of_call_is_told_of_once() raises:
    on_each_backend(_told)


def test_redirections_and_repetitions_are_one_call() raises:
    on_each_backend(_followed)


def test_what_a_call_failed_with_is_told() raises:
    on_each_backend(_failed)


def test_what_a_reader_fails_with_is_told() raises:
    on_each_backend(_failed_to_read)


def test_a_head_that_cannot_be_decoded_is_told_with_its_status() raises:
    on_each_backend(_undecodable)


def test_why_a_program_gives_a_stream_up_is_told() raises:
    on_each_backend(_given_up)


def test_a_record_is_a_line() raises:
    _ = _taken()
    var stand = Stand(ok_answers(1))
    var client = HttpClient(stand.url(), config=_config())
    _ = client.get("/a?b")
    client.close_idle()
    var line = String(_taken()[0])
    var front = String("GET ", stand.url("/a?b"), " 200, attempts 1, ")
    assert_true(line.startswith(front), line)
    assert_true(line.endswith(" us"), line)
    stand^.join()


def _told() raises:
    _ = _taken()
    var stand = Stand(ok_answers(7))
    var client = HttpClient(stand.url(), config=_config())
    var got = client.get("/get")
    assert_equal(got.timings().total_us(), _only_us())
    _ = client.send(Request("PUT", "/send", "x"))
    _check(_taken(), "PUT", stand.url("/send"))
    var query: Dict[String, String] = {"a": "b c"}
    _ = client.start("GET", "/start", query=query).join()
    _check(_taken(), "GET", stand.url("/start?a=b%20c"))
    var stream = client.stream(stand.url("/stream"), query=query)
    assert_equal(len(_taken()), 0)
    _ = stream.read_all(10)
    var timings = stream.timings()
    assert_true(timings.head_us > 0)
    _ = stream^
    _check(_taken(), "GET", stand.url("/stream?a=b%20c"))
    var opened = client.open("POST", "/open", query=query)
    opened.write_all("abc".as_bytes())
    opened.end()
    assert_equal(opened.status(), 200)
    assert_true(opened.timings().head_us > 0)
    # One that is dropped has not failed.
    _ = opened^
    _check(_taken(), "POST", stand.url("/open?a=b%20c"))
    var reader = MemoryReader(octets_of("abc"))
    var uploaded = client.upload("PUT", "/upload", reader, query=query)
    assert_equal(uploaded.url(), stand.url("/upload?a=b%20c"))
    assert_equal(uploaded.timings().total_us(), _only_us())
    var form = MultipartForm(boundary="limit")
    form.add_field("a", "b")
    var posted = client.post("/form", form)
    assert_true(posted.timings().head_us > 0)
    assert_equal(posted.timings().total_us(), _only_us())
    client.close_idle()
    stand^.join()


def _followed() raises:
    _ = _taken()
    var stand = Stand(
        [
            redirect_to("/next"),
            Reply(
                "HTTP/1.1 503 X\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n",
                Ending.KEEP,
            ),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var config = _config()
    config.retry = RetryPolicy(retries_max=1)
    var client = HttpClient(stand.url(), config=config^)
    assert_equal(client.get("/first").status, 200)
    client.close_idle()
    var records = _taken()
    assert_equal(len(records), 1)
    assert_equal(records[0].url, stand.url("/next"))
    assert_equal(records[0].redirects, 1)
    assert_equal(records[0].attempts, 3)
    assert_equal(records[0].status, 200)
    assert_false(records[0].failure)
    stand^.join()


def _failed() raises:
    _ = _taken()
    var short: StaticString = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
    var stand = Stand(
        [
            Reply(String(short), Ending.CLOSE),
            Reply(String(short), Ending.CLOSE),
            Reply(String(OK_ANSWER), Ending.HOLD),
            Reply(String(), Ending.HOLD),
        ]
    )
    var client = HttpClient(stand.url(), config=_config())
    with assert_raises(contains="client.closed content"):
        _ = client.post("/", "x")
    _check_failure(ClientError.CLOSED, 200)
    with assert_raises(contains="client.closed content"):
        var stream = client.stream(stand.url("/"))
        _ = stream.read_all(10)
    _check_failure(ClientError.CLOSED, 200)
    with assert_raises(contains="client.too_large content"):
        var stream = client.stream(stand.url("/"))
        _ = stream.read_all(1)
    _check_failure(ClientError.TOO_LARGE, 200)
    with assert_raises(contains="client.timeout head"):
        _ = client.stream(stand.url("/"), timeout_ms=50)
    _check_failure(ClientError.TIMEOUT, 0)
    stand^.join()
    # What was refused before anything was asked is no call.
    with assert_raises(contains="client.bad_url"):
        _ = client.get("ftp://a/")
    assert_equal(len(_taken()), 0)
    with assert_raises(contains="client.refused connect"):
        _ = client.get("http://127.0.0.1:1/")
    _check_failure(ClientError.REFUSED, 0)


@fieldwise_init
struct _Broken(Movable, Reader):
    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        raise Error("the disk is gone")


def _failed_to_read() raises:
    _ = _taken()
    var stand = Stand(
        [
            Reply(String(OK_ANSWER), Ending.KEEP),
            Reply(String(CONTINUE), Ending.CLOSE),
        ]
    )
    var config = _config()
    config.limits.body_octets_max = 1
    var client = HttpClient(stand.url(), config=config^)
    var reader = MemoryReader(octets_of("abc"))
    with assert_raises(contains="client.too_large content"):
        _ = client.upload("PUT", "/", reader, length=3)
    _check_failure(ClientError.TOO_LARGE, 200)
    with assert_raises(contains="the disk is gone"):
        _ = client.upload(
            "PUT", "/", _Broken(), length=3, expects_continue=True
        )
    var records = _taken()
    assert_equal(len(records), 1)
    assert_true(records[0].failure, "no failure")
    assert_equal(
        String(records[0].failure.value()),
        "client.other send: the disk is gone",
    )
    assert_equal(client.statistics().open, 0)
    stand^.join()


def _undecodable() raises:
    _ = _taken()
    var config = _config()
    config.decoding = DecodingLimits(codings_max=1)
    var stand = Stand(
        [
            Reply(
                (
                    "HTTP/1.1 203 X\r\nContent-Encoding: gzip, gzip\r\n"
                    "Content-Length: 3\r\n\r\nabc"
                ),
                Ending.KEEP,
            )
        ]
    )
    var client = HttpClient(stand.url(), config=config^)
    var stream = client.open("POST", "/", length=0)
    stream.end()
    with assert_raises(contains="client.encoding head"):
        _ = stream.status()
    _ = stream^
    _check_failure(ClientError.ENCODING, 203)
    client.close_idle()
    stand^.join()


def _given_up() raises:
    _ = _taken()
    var stand = Stand(ok_answers(1))
    var client = HttpClient(stand.url(), config=_config())
    var stream = client.open("PUT", "/", length=9)
    stream.write_all("abc".as_bytes())
    stream.give_up(Error("no more"))
    stream.give_up(Error("a second time nothing happens"))
    _ = stream^
    var whole = client.stream("/")
    assert_equal(len(whole.read_all(10)), 2)
    whole.give_up(Error("too late"))
    _ = whole^
    client.close_idle()
    var records = _taken()
    assert_equal(len(records), 2)
    assert_equal(
        String(records[0].failure.value()), "client.other send: no more"
    )
    assert_false(records[1].failure)
    stand^.join()


def _config() -> ClientConfig:
    return ClientConfig(call_log=CallLog(_keep))


def _keep(record: CallRecord):
    try:
        _RECORDS.get_or_create_ptr()[].append(record.copy())
    except:
        return


def _taken() raises -> List[CallRecord]:
    var records = List[CallRecord]()
    swap(records, _RECORDS.get_or_create_ptr()[])
    return records^


def _only_us() raises -> Int:
    var records = _taken()
    assert_equal(len(records), 1)
    assert_equal(records[0].status, 200)
    return records[0].timings.total_us()


def _check(
    records: List[CallRecord], method: StringSlice, url: StringSlice
) raises:
    assert_equal(len(records), 1)
    assert_equal(records[0].method, method)
    assert_equal(records[0].url, url)
    assert_equal(records[0].status, 200)
    assert_equal(records[0].attempts, 1)
    assert_false(records[0].failure)
    assert_true(records[0].timings.total_us() > 0)


def _check_failure(kind: Int, status: Int) raises:
    var records = _taken()
    assert_equal(len(records), 1)
    assert_equal(records[0].failure.value().kind, kind)
    assert_equal(records[0].status, status)


def _none() -> List[CallRecord]:
    return List[CallRecord]()


comptime _RECORDS = _Global["flare.tests.client.records", _none]
comptime TESTS = __functions_in_module()
