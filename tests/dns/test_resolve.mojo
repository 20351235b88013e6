"""Tests for look-ups by the means of the system, and for their errors."""

from flare.core import heap_create, heap_destroy
from flare.dns import DnsError, resolve, resolve_v4, resolve_v6
from flare.dns.system_lookup import look_up
from flare.net import IpAddr
from flare.runtime import JoinHandle, blocking, sleep, spawn
from flare.runtime.job_threads import JOB_THREADS_MAX
from flare.sys.socket_address import AF_INET, AF_UNSPEC
from flare.sys.thread import Lock
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import on_each_backend


def test_numeric_addresses_pass_through() raises:
    for text in ["192.0.2.7", "::1", "2001:db8::5", "0.0.0.0", "::"]:
        var addresses = resolve(text)
        assert_equal(len(addresses), 1)
        assert_equal(String(addresses[0]), text)
    assert_equal(String(resolve_v4("192.0.2.7")[0]), "192.0.2.7")
    assert_equal(String(resolve_v6("::1")[0]), "::1")


def test_an_address_of_the_other_family_is_no_answer() raises:
    for text in ["::1", "::", "::ffff:10.0.0.1"]:
        assert_equal(_failure_v4(text), String("dns.no_address resolve ", text))
    try:
        _ = resolve_v6("192.0.2.7")
        assert_true(False, "it raises")
    except e:
        assert_equal(String(e), "dns.no_address resolve 192.0.2.7")
        assert_equal(DnsError.of(e).value().host, "192.0.2.7")


def test_localhost_is_this_machine_in_both_families() raises:
    for name in ["localhost", "LOCALHOST.", "a.localhost"]:
        var addresses = resolve(name)
        assert_equal(len(addresses), 2)
        assert_true(addresses[0] == IpAddr.localhost_v4())
        assert_true(addresses[1] == IpAddr.localhost_v6())
        assert_true(resolve_v4(name)[0] == IpAddr.localhost_v4())
        assert_true(resolve_v6(name)[0] == IpAddr.localhost_v6())


def test_one_try_mixes_look_ups_with_other_errors() raises:
    try:
        var count = len(resolve("127.0.0.1")) + Int("x")
        assert_true(False, String(count))
    except e:
        assert_false(DnsError.of(e))


def test_the_system_is_asked_on_a_helper_thread() raises:
    on_each_backend(_system)


def test_a_look_up_waits_for_no_job_of_the_program() raises:
    on_each_backend(_beside_jobs)


def test_a_look_up_that_takes_too_long_is_left_alone() raises:
    on_each_backend(_too_long)


def test_a_cancelled_look_up_ends() raises:
    on_each_backend(_cancelled)


def test_errors_are_read_back_from_their_text() raises:
    var hosts: List[String] = ["example.com", "::1", "::"]
    for kind in range(DnsError.NO_MEMORY + 1):
        for host in hosts:
            for code in [0, 3, -2, -11]:
                var error = DnsError(kind, "resolve", host, code)
                var back = DnsError.of(Error(error)).value()
                assert_equal(back.kind, kind)
                assert_equal(back.operation, "resolve")
                assert_equal(back.host, host)
                assert_equal(back.code, code)
    for text in [
        "",
        "dns.",
        "dns.not_found",
        "dns.unknown resolve a",
        "dns.not_found accept a",
        "net.refused resolve a",
        "dns.not_found resolve a code=x",
        "dns.not_found resolve a code=",
        "dns.not_found resolve a code=03",
        "dns.not_found resolve a code=3 more",
    ]:
        assert_false(DnsError.of(Error(text)), text)


def test_only_failures_of_servers_may_be_tried_again() raises:
    assert_true(DnsError(DnsError.TIMEOUT, "resolve", "a", 0).can_retry())
    assert_true(DnsError(DnsError.TRY_AGAIN, "resolve", "a", 0).can_retry())
    assert_false(DnsError(DnsError.NOT_FOUND, "resolve", "a", 0).can_retry())
    assert_false(DnsError(DnsError.BAD_NAME, "resolve", "", 0).can_retry())


def _failure_v4(text: StringSlice) -> String:
    try:
        _ = resolve_v4(text)
        return "none"
    except e:
        return String(e)


def _system() raises:
    # What `resolve` answers itself, the system answers as well.
    assert_true(IpAddr.localhost_v4() in look_up("localhost", AF_INET, 20_000))
    var all = look_up("localhost", AF_UNSPEC, 20_000)
    for i in range(len(all)):
        assert_true(all[i].is_loopback())
        for k in range(i):
            assert_true(all[i] != all[k])

    def ask() raises {} -> Int:
        return len(look_up("localhost", AF_INET, 20_000))

    assert_true(spawn(ask).join() > 0)


def _beside_jobs() raises:
    var door = heap_create(Lock.create())
    door[].acquire()

    def job() raises {var door}:
        def wait() raises {var door}:
            door[].acquire()
            door[].release()

        blocking(wait)

    var jobs = List[JoinHandle[NoneType]]()
    for _ in range(JOB_THREADS_MAX):
        jobs.append(spawn(job))
    # The jobs are queued, and wait at the door one by one.
    sleep(0)
    try:
        assert_true(len(look_up("localhost", AF_INET, 5000)) > 0)
    finally:
        door[].release()
    while len(jobs) > 0:
        _ = jobs.pop().join()
    door[].destroy()
    heap_destroy(door)


def _too_long() raises:
    for _ in range(20):
        try:
            _ = look_up("localhost", AF_INET, 0)
        except e:
            assert_equal(String(e), "dns.timeout resolve localhost")


def _cancelled() raises:
    def ask() raises {} -> Int:
        return len(look_up("localhost", AF_INET, 20_000))

    var seen = 0
    for _ in range(200):
        var asking = spawn(ask)
        # So that it waits, most of the time.
        sleep(0)
        asking.cancel()
        try:
            _ = asking^.join()
        except e:
            assert_equal(String(e), "dns.cancelled resolve localhost")
            seen += 1
    assert_true(seen > 0, "every look-up was over before it was cancelled")


comptime TESTS = __functions_in_module()
