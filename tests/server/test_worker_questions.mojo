"""Tests for `flare.http.server.process.worker_questions`."""

from flare.http.server.process.worker_questions import WorkerQuestions

from tests.asserting import assert_equal, assert_false, assert_true


def test_nobody_is_asked_unless_systemd_wants_signs_of_life() raises:
    var questions = WorkerQuestions(None, 2)
    questions.begin(1000)
    assert_equal(questions.due_ms, Int.MAX)


def test_questions_are_due_four_times_in_the_time_of_systemd() raises:
    var questions = WorkerQuestions(2000, 2)
    assert_equal(questions.due_ms, Int.MAX)
    questions.begin(1000)
    assert_equal(questions.due_ms, 1000)
    questions.go_on(1003)
    assert_equal(questions.due_ms, 1503)
    var hasty = WorkerQuestions(1, 1)
    hasty.go_on(7)
    assert_equal(hasty.due_ms, 8)


def test_a_worker_is_asked_again_only_once_it_has_answered() raises:
    var questions = WorkerQuestions(2000, 2)
    assert_true(questions.ask(0, 1000))
    assert_true(questions.ask(1, 1000))
    assert_false(questions.ask(0, 1500))
    questions.forget(0)
    assert_true(questions.ask(0, 2000))
    assert_false(questions.ask(1, 2000))


def test_silence_counts_from_half_of_the_time_of_systemd_on() raises:
    var questions = WorkerQuestions(2000, 2)
    assert_false(questions.silence_ms(0, 9000))
    _ = questions.ask(0, 1000)
    assert_false(questions.silence_ms(0, 1999))
    assert_equal(questions.silence_ms(0, 2000).value(), 1000)
    # A question that was refused changes nothing.
    _ = questions.ask(0, 2000)
    assert_equal(questions.silence_ms(0, 2100).value(), 1100)
    assert_false(questions.silence_ms(1, 9000))
    questions.forget(0)
    assert_false(questions.silence_ms(0, 9000))


comptime TESTS = __functions_in_module()
