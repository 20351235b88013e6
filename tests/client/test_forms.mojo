"""Tests that forms are sent as what they are."""

from std.ffi import c_int, c_uint, external_call
from std.os import remove
from std.os.path import exists
from std.testing import assert_raises
from std.time import sleep as block

from flare.http import FormFields, HttpClient, MultipartForm, post
from flare.runtime import blocking, current_reactor, sleep, spawn
from flare.runtime.job_threads import JobThreads
from flare.sys.process import process_id

from tests.asserting import assert_equal, assert_true
from tests.client.stand import Stand, ok_answers
from tests.tcp.loops import on_each_backend


def test_fields_are_sent_as_a_form() raises:
    on_each_backend(_fields)


def test_files_are_sent_as_they_are_read() raises:
    on_each_backend(_files)


def test_a_file_that_opens_slowly_holds_up_its_own_fiber_alone() raises:
    on_each_backend(_opened_slowly)


def test_a_file_is_asked_for_its_length_on_a_helper_thread() raises:
    on_each_backend(_asked)


def _opened_slowly() raises:
    var path = String("/tmp/flare-form-slow-", process_id())
    var sign = path + ".sign"
    var name = path
    assert_equal(
        external_call["mkfifo", c_int](name.as_c_string_span(), c_uint(0o600)),
        0,
    )
    var form = MultipartForm(boundary="limit")
    form.add_file("file", path, file_name="a.txt")
    var octets = form.content_length()

    # To open one end of a pipe lasts until another opens the other one.
    def open_the_other_end() raises {var path, var sign} -> Bool:
        var goes_on = False
        for _ in range(200):
            goes_on = exists(sign)
            if goes_on:
                break
            block(0.01)
        with open(path, "w") as file:
            file.write("")
        return goes_on

    def other_end() raises {var open_the_other_end^} -> Bool:
        return blocking(open_the_other_end)

    def read() raises {var form^} -> Int:
        return len(form.octets())

    var opening = spawn(other_end^)
    var reading = spawn(read^)
    sleep(0)
    with open(sign, "w") as file:
        file.write("")
    var goes_on = opening^.join()
    assert_equal(reading^.join(), octets)
    remove(path)
    remove(sign)
    assert_true(goes_on, "the loop stood still")


def _asked() raises:
    var path = String("/tmp/flare-form-", process_id())
    with open(path, "w") as file:
        file.write("12345")
    var form = MultipartForm(boundary="limit")
    var empty = form.content_length()
    sleep(0)
    var helpers = JobThreads.of(current_reactor().value())
    assert_equal(helpers.threads(), 0)
    form.add_file("file", path, file_name="a.txt")
    assert_equal(helpers.threads(), 1)
    assert_true(form.content_length() > empty + 5)
    remove(path)
    with assert_raises():
        form.add_file("file", path)


def _fields() raises:
    var form = FormFields()
    form.append("name", "a b&c")
    form.append("name", "ä")
    var stand = Stand(ok_answers(2))
    var client = HttpClient(stand.url())
    assert_equal(client.post("/", form).status, 200)
    assert_equal(client.put("/", form).status, 200)
    client.close_idle()
    for i in range(2):
        var request = stand.request(i)
        assert_true(
            "Content-Type: application/x-www-form-urlencoded\r\n" in request,
            request,
        )
        assert_true(request.endswith("\r\n\r\nname=a+b%26c&name=%C3%A4"))
    stand^.join()


def _files() raises:
    var path = String("/tmp/flare-form-", process_id())
    with open(path, "w") as file:
        file.write("x" * 200_000)
    var stand = Stand(ok_answers(2))
    var client = HttpClient(stand.url())
    var form = MultipartForm(boundary="limit")
    form.add_field("name", "value")
    form.add_file("file", path, file_name="a.txt")
    var query: Dict[String, String] = {"a": "b c"}
    assert_equal(client.post("/", form, query=query).status, 200)
    client.close_idle()
    assert_equal(post(stand.url("/x"), form, query=query).status, 200)
    remove(path)
    assert_true(stand.request(1).startswith("POST /x?a=b%20c HTTP/1.1\r\n"))
    var request = stand.request(0)
    assert_true(request.startswith("POST /?a=b%20c HTTP/1.1\r\n"))
    assert_true(
        "Content-Type: multipart/form-data; boundary=limit\r\n" in request
    )
    assert_true(
        String("Content-Length: ", form.content_length(), "\r\n") in request
    )
    assert_true('filename="a.txt"' in request)
    assert_true(request.endswith("xxx\r\n--limit--\r\n"))
    var start = request.find("\r\n\r\n") + 4
    assert_equal(request.byte_length() - start, form.content_length())
    stand^.join()


comptime TESTS = __functions_in_module()
