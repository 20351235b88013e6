"""Tests that forms are sent as what they are."""

from std.os import remove
from std.testing import assert_equal, assert_true

from flare.http import FormFields, HttpClient, MultipartForm
from flare.sys.process import process_id

from tests.client.stand import Stand, ok_answers
from tests.tcp.loops import on_each_backend


def test_fields_are_sent_as_a_form() raises:
    on_each_backend(_fields)


def test_files_are_sent_as_they_are_read() raises:
    on_each_backend(_files)


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
    var stand = Stand(ok_answers(1))
    var client = HttpClient(stand.url())
    var form = MultipartForm(boundary="limit")
    form.add_field("name", "value")
    form.add_file("file", path, file_name="a.txt")
    assert_equal(client.post("/", form).status, 200)
    client.close_idle()
    remove(path)
    var request = stand.request(0)
    assert_true(
        'Content-Type: multipart/form-data; boundary="limit"\r\n' in request
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
