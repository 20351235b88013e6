"""Lets clients of all kinds loose on sockets, and servers of all kinds on
clients."""

from std.sys import get_defined_int

from tests.asserting import assert_true

from .random_clients import check_client_seed
from .random_sockets import check_seed

comptime _RUNS = get_defined_int["RUNS", 5000]()


def test_every_socket_ends_with_one_cause() raises:
    var failures = List[String]()
    var opened = 0
    for number in range(_RUNS):
        try:
            opened += check_seed(number * 7919 + 1)
        except e:
            failures.append(String("seed ", number * 7919 + 1, ": ", e))
            if len(failures) == 10:
                break
    if failures:
        raise Error("\n".join(failures))
    # Most clients complete the handshake.
    assert_true(opened > _RUNS)


def test_every_socket_of_a_client_ends_with_one_cause() raises:
    var failures = List[String]()
    var opened = 0
    for number in range(_RUNS):
        try:
            opened += check_client_seed(number * 7919 + 1)
        except e:
            failures.append(String("seed ", number * 7919 + 1, ": ", e))
            if len(failures) == 10:
                break
    if failures:
        raise Error("\n".join(failures))
    # Most servers accept.
    assert_true(opened > _RUNS * 7 // 10)


comptime TESTS = __functions_in_module()
