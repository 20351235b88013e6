"""Holds a reactor on epoll to the contract."""

from flare.runtime.backend import BackendKind
from flare.runtime.operation import POLL_PEER_CLOSED, OperationKind
from flare.sys.file import replace_descriptor
from flare.testing.contract import KernelWorld
from flare.testing.contract.scene import Scene
from flare.testing.contract import (
    cancelling,
    connecting,
    listening,
    receiving,
    sending,
    sending_files,
    turning,
)

from tests.asserting import assert_equal

comptime _World = KernelWorld[BackendKind.EPOLL]


def test_receive_delivers_a_buffer() raises:
    receiving.receive_delivers_a_buffer[_World]()


def test_receive_at_once_does_not_wait() raises:
    receiving.receive_at_once_does_not_wait[_World]()


def test_receive_finds_what_has_arrived_before() raises:
    receiving.receive_finds_what_has_arrived_before[_World]()


def test_multishot_receive_goes_on() raises:
    receiving.multishot_receive_goes_on[_World]()


def test_receive_may_be_bounded() raises:
    receiving.receive_may_be_bounded[_World]()


def test_read_fills_memory_of_the_owner() raises:
    receiving.read_fills_memory_of_the_owner[_World]()


def test_end_of_the_peer_is_zero() raises:
    receiving.end_of_the_peer_is_zero[_World]()


def test_reset_of_the_peer_is_an_error() raises:
    receiving.reset_of_the_peer_is_an_error[_World]()


def test_receive_without_buffers_says_so() raises:
    receiving.receive_without_buffers_says_so[_World]()


def test_one_receive_leaves_buffers_to_others() raises:
    receiving.one_receive_leaves_buffers_to_others[_World]()


def test_long_streams_arrive_whole() raises:
    receiving.long_streams_arrive_whole[_World]()


def test_one_send_carries_two_runs() raises:
    sending.one_send_carries_two_runs[_World]()


def test_octets_of_a_file_follow_others() raises:
    sending_files.octets_of_a_file_follow_others[_World]()


def test_a_forgotten_file_is_sent_no_more() raises:
    sending_files.a_forgotten_file_is_sent_no_more[_World]()


def test_waiting_send_of_a_file_can_be_cancelled() raises:
    sending_files.waiting_send_of_a_file_can_be_cancelled[_World]()


def test_sending_a_file_to_a_closed_peer_fails() raises:
    sending_files.sending_a_file_to_a_closed_peer_fails[_World]()


def test_sealed_pages_arrive_as_other_octets() raises:
    sending.sealed_pages_arrive_as_other_octets[_World]()


def test_operations_wait_behind_sealed_pages() raises:
    sending.operations_wait_behind_sealed_pages[_World]()


def test_send_may_be_partial() raises:
    sending.send_may_be_partial[_World]()


def test_waiting_send_can_be_cancelled() raises:
    sending.waiting_send_can_be_cancelled[_World]()


def test_both_directions_go_at_once() raises:
    sending.both_directions_go_at_once[_World]()


def test_end_of_sending_leaves_receiving() raises:
    sending.end_of_sending_leaves_receiving[_World]()


def test_sending_to_a_closed_peer_fails() raises:
    sending.sending_to_a_closed_peer_fails[_World]()


def test_multishot_accept_goes_on() raises:
    connecting.multishot_accept_goes_on[_World]()


def test_single_accept_takes_one() raises:
    connecting.single_accept_takes_one[_World]()


def test_refused_connect_says_so() raises:
    connecting.refused_connect_says_so[_World]()


def test_address_of_the_peer_is_known() raises:
    connecting.address_of_the_peer_is_known[_World]()


def test_accepting_now_takes_who_waits() raises:
    listening.accepting_now_takes_who_waits[_World]()


def test_accepting_now_alternates_with_accepts() raises:
    listening.accepting_now_alternates_with_accepts[_World]()


def test_held_back_connections_do_not_enter_the_queue() raises:
    listening.held_back_connections_do_not_enter_the_queue[_World]()


def test_who_is_turned_away_reads_the_answer() raises:
    listening.who_is_turned_away_reads_the_answer[_World]()


def test_poll_reports_readiness() raises:
    connecting.poll_reports_readiness[_World]()


def test_closed_descriptor_is_forgotten() raises:
    connecting.closed_descriptor_is_forgotten[_World]()


def test_unknown_descriptor_is_an_error() raises:
    connecting.unknown_descriptor_is_an_error[_World]()


def test_cancel_before_submission_has_no_effect() raises:
    cancelling.cancel_before_submission_has_no_effect[_World]()


def test_cancel_in_flight_completes_once() raises:
    cancelling.cancel_in_flight_completes_once[_World]()


def test_cancel_of_an_idle_operation_does_nothing() raises:
    cancelling.cancel_of_an_idle_operation_does_nothing[_World]()


def test_cancel_that_races_loses_nothing() raises:
    cancelling.cancel_that_races_loses_nothing[_World]()


def test_slot_used_again_gets_no_old_answer() raises:
    cancelling.slot_used_again_gets_no_old_answer[_World]()


def test_slot_may_change_its_descriptor() raises:
    cancelling.slot_may_change_its_descriptor[_World]()


def test_cancel_in_a_completion_works() raises:
    cancelling.cancel_in_a_completion_works[_World]()


def test_accept_and_poll_can_be_cancelled() raises:
    cancelling.accept_and_poll_can_be_cancelled[_World]()


def test_what_goes_at_once_completes_in_a_later_turn() raises:
    turning.what_goes_at_once_completes_in_a_later_turn[_World]()


def test_nothing_is_called_inside_a_submission() raises:
    turning.nothing_is_called_inside_a_submission[_World]()


def test_turn_without_wait_returns() raises:
    turning.turn_without_wait_returns[_World]()


def test_timer_ends_a_wait() raises:
    turning.timer_ends_a_wait[_World]()


def test_limit_ends_a_wait_before_a_timer() raises:
    turning.limit_ends_a_wait_before_a_timer[_World]()


def test_yielding_fibers_let_others_work() raises:
    turning.yielding_fibers_let_others_work[_World]()


def test_post_from_a_thread_wakes_the_loop() raises:
    turning.post_from_a_thread_wakes_the_loop[_World]()


def test_many_operations_complete_once() raises:
    turning.many_operations_complete_once[_World]()


def test_what_is_open_elsewhere_reports_nothing_once_it_was_closed() raises:
    var scene = Scene[_World]()
    # A copy of the descriptor stands for a process that was forked.
    var copy, spare = scene.world.pair()
    var one, other = scene.world.pair()
    assert_equal(replace_descriptor(copy, one), Int(copy))
    var receive = scene.receive(one, multishot=True)
    scene.turns(1)
    receive.cancel()
    scene.finish(receive)
    scene.close(one)
    var next, peer = scene.world.pair()
    var same = next if next == one else peer
    assert_equal(same, one)
    var gone = scene.watch(OperationKind.POLL, same)
    gone.state[].operation.length = POLL_PEER_CLOSED
    gone.submit()
    scene.turns(1)
    scene.close(other)
    scene.turns(3)
    assert_equal(gone.count(), 0)
    scene.close(peer if same == next else next)
    scene.finish(gone)
    assert_equal(gone.last() & POLL_PEER_CLOSED, POLL_PEER_CLOSED)
    for descriptor in [same, copy, spare]:
        scene.close(descriptor)
    scene^.end()


comptime TESTS = __functions_in_module()
