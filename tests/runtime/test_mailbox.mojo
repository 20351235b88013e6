"""Tests for `flare.runtime.mailbox` through `Reactor.post`."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.backend import BackendKind
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.sys.thread import join_thread, start_thread
from tests.asserting import assert_equal, assert_false
from tests.runtime.loop import Log, Loop


def test_letters_are_delivered_in_order_in_the_next_turn() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var letters = heap_create(_Letters(loop.reactor))
        for i in range(3):
            var letter = heap_create(_Letter(letters, i))
            loop.reactor.post(_note, letter.unsafe_bitcast[NoneType]())
        assert_equal(len(letters[].log.read()), 0)
        loop.turn(10_000)
        assert_equal(letters[].log.take(), ["0", "1", "2"])
        heap_destroy(letters)
        loop.close()


def test_a_letter_wakes_a_loop_that_waits_for_ever() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        loop.turn(1)
        for _ in range(100):
            var letters = heap_create(_Letters(loop.reactor))
            var started = start_thread(
                _post_one, letters.unsafe_bitcast[NoneType]()
            )
            while letters[].delivered == 0:
                loop.turn(-1)
            join_thread(started[1])
            _ = letters[].log.take()
            heap_destroy(letters)
        loop.close()


def test_no_letter_of_four_threads_is_lost_or_out_of_order() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var boxes = List[PointerTo[_Letters]]()
        var threads = List[UInt64]()
        for _ in range(4):
            boxes.append(heap_create(_Letters(loop.reactor)))
            threads.append(
                start_thread(
                    _post_thousand,
                    boxes[len(boxes) - 1].unsafe_bitcast[NoneType](),
                )[1]
            )
        for box in boxes:
            while box[].delivered < 1000:
                loop.turn(-1)
        for thread in threads:
            join_thread(thread)
        for box in boxes:
            assert_equal(box[].delivered, 1000)
            assert_false(box[].out_of_order)
            _ = box[].log.take()
            heap_destroy(box)
        loop.close()


def test_a_letter_may_post_another() raises:
    var loop = Loop(ReactorConfig())
    var letters = heap_create(_Letters(loop.reactor))
    loop.reactor.post(_post_again, letters.unsafe_bitcast[NoneType]())
    loop.turn(10_000)
    assert_equal(letters[].delivered, 1)
    loop.turn(10_000)
    assert_equal(letters[].delivered, 2)
    _ = letters[].log.take()
    heap_destroy(letters)
    loop.close()


def test_what_was_posted_last_is_done_when_the_reactor_ends() raises:
    var loop = Loop(ReactorConfig())
    var letters = heap_create(_Letters(loop.reactor))
    loop.reactor.post(
        _note, heap_create(_Letter(letters, 7)).unsafe_bitcast[NoneType]()
    )
    loop.close()
    assert_equal(letters[].log.take(), ["7"])
    heap_destroy(letters)


struct _Letters(Movable):
    var reactor: Reactor
    var log: Log
    var delivered: Int
    var out_of_order: Bool

    def __init__(out self, reactor: Reactor):
        self.reactor = reactor
        self.log = Log()
        self.delivered = 0
        self.out_of_order = False


@fieldwise_init
struct _Letter(Movable):
    var letters: PointerTo[_Letters]
    var number: Int


def _note(argument: Erased):
    var letter = argument.unsafe_bitcast[_Letter]()
    letter[].letters[].log.add(String(letter[].number))
    heap_destroy(letter)


def _count(argument: Erased):
    var letter = argument.unsafe_bitcast[_Letter]()
    var letters = letter[].letters
    if letter[].number != letters[].delivered:
        letters[].out_of_order = True
    letters[].delivered += 1
    heap_destroy(letter)


def _post_again(argument: Erased):
    var letters = argument.unsafe_bitcast[_Letters]()
    letters[].delivered += 1
    letters[].reactor.post(
        _count, heap_create(_Letter(letters, 1)).unsafe_bitcast[NoneType]()
    )


def _post_one(argument: Erased) abi("C") -> Optional[Erased]:
    var letters = argument.unsafe_bitcast[_Letters]()
    letters[].reactor.post(
        _count, heap_create(_Letter(letters, 0)).unsafe_bitcast[NoneType]()
    )
    return None


def _post_thousand(argument: Erased) abi("C") -> Optional[Erased]:
    var letters = argument.unsafe_bitcast[_Letters]()
    var reactor = letters[].reactor
    for i in range(1000):
        reactor.post(
            _count, heap_create(_Letter(letters, i)).unsafe_bitcast[NoneType]()
        )
    return None


comptime TESTS = __functions_in_module()
