"""Tests for the text of `DatagramTooLarge`."""

from flare.net import DatagramTooLarge, NetError, SocketAddr

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_fields_come_back_from_the_text() raises:
    var rows: List[DatagramTooLarge] = [
        DatagramTooLarge("send_to", 65_508, 65_507, SocketAddr.localhost(53)),
        DatagramTooLarge("send", 70_000, 0, None),
        DatagramTooLarge("receive_from", 10, 0, SocketAddr.localhost_v6(1)),
        DatagramTooLarge("receive", 0, 1, None),
    ]
    for row in rows:
        var text = String(row)
        var back = DatagramTooLarge.of(Error(text)).value()
        assert_equal(String(back), text)
        assert_equal(back.operation, row.operation)
        assert_equal(back.octets, row.octets)
        assert_equal(back.octets_max, row.octets_max)
        assert_equal(Bool(back.address), Bool(row.address))
        var error = NetError.of(Error(text)).value()
        assert_equal(error.kind, NetError.TOO_LARGE)
        assert_equal(error.operation, row.operation)
        assert_equal(error.errno, 90 if row.operation.startswith("s") else 0)
    assert_equal(
        String(rows[0]),
        "net.too_large send_to 127.0.0.1:53 errno=90: octets=65508 limit=65507",
    )


def test_texts_of_others_are_not_read() raises:
    var texts: List[StaticString] = [
        "",
        "net.too_large send_to",
        "net.too_large send_to errno=90",
        "net.too_large send_to: octets=",
        "net.too_large send_to: octets=01",
        "net.too_large send_to: octets=-1",
        "net.too_large send_to: octets=1 ",
        "net.too_large send_to: octets=1 limit=",
        "net.too_large send_to: octets=1 limit=2x",
        "net.too_large send_to: octets=1 bound=2",
        "net.too_large send_to: octets=1 limit=2 more",
        "net.too_large send_to: octets=1:more",
        "net.too_large send_to: octets=1234567890123456789",
        "net.too_large dispatch: octets=1",
        "net.closed send_to: octets=1",
        "too_large send_to: octets=1",
    ]
    for text in texts:
        assert_false(DatagramTooLarge.of(Error(text)), String(text))
    assert_true(DatagramTooLarge.of(Error("net.too_large send: octets=1")))
    for text in [
        "net.too_large send: octets=1: /run/a",
        "net.too_large send: octets=1 limit=2: ",
    ]:
        assert_equal(DatagramTooLarge.of(Error(text)).value().octets, 1)


comptime TESTS = __functions_in_module()
