"""Runs several changes in one transaction: a group commit.

Each change has a savepoint of its own, so one that fails does not affect the
others. Fibers are answered after the commit, also those whose change failed:
it may have failed because of a neighbour that is then not committed. If the
group cannot be committed, each change runs again in a transaction of its own.
"""

from .connection import LaneConnection, RunOutcome
from .work_item import WorkItem, post_answers


def run_changes(connection: LaneConnection, group: List[WorkItem]):
    """Runs changes and answers them.

    Args:
        connection: The connection of the writer.
        group: The changes.
    """
    if len(group) == 1:
        if group[0].begin_run():
            _run_alone(connection, group[0])
            _ = group[0].finish()
        return
    connection.watch(None)
    var error = connection.command("BEGIN IMMEDIATE")
    if error:
        for item in group:
            if item.begin_run():
                item.fail(error.value())
        return
    var run = List[WorkItem](capacity=len(group))
    for item in group:
        if not item.begin_run():
            continue
        run.append(item)
        if not _run_in_group(connection, item):
            break
    if not connection.is_in_transaction():
        # A full disk, for example. Only the last item knows why.
        _run_each_alone(connection, group, run)
        return
    connection.watch(None)
    if connection.command("COMMIT"):
        connection.watch(None)
        _ = connection.command("ROLLBACK")
        for item in run:
            item.forget_outcome()
        _run_each_alone(connection, group, run)
        return
    connection.state[].target.count_commit(len(run))
    _answer(run)


def _run_in_group(connection: LaneConnection, item: WorkItem) -> Bool:
    # Returns whether the transaction is still open.
    connection.watch(item)
    var error = connection.command("SAVEPOINT flare")
    if error:
        # It is stopped, or there is no memory. It has an answer in any case.
        item.state[].error = error^
        return connection.is_in_transaction()
    var outcome = connection.run(item)
    if not connection.is_in_transaction():
        return False
    connection.watch(None)
    if outcome != RunOutcome.DONE:
        _ = connection.command("ROLLBACK TO flare")
    _ = connection.command("RELEASE flare")
    return True


def _run_each_alone(
    connection: LaneConnection, group: List[WorkItem], begun: List[WorkItem]
):
    # Those of `group` after the last of `begun` were not begun.
    for i in range(len(begun)):
        var item = begun[i]
        var is_cause = i == len(begun) - 1 and Bool(item.state[].error)
        if not is_cause:
            item.forget_outcome()
            _run_alone(connection, item)
        _ = item.finish()
    var is_after = len(begun) == 0
    for item in group:
        if is_after and item.begin_run():
            _run_alone(connection, item)
            _ = item.finish()
        elif len(begun) > 0 and item == begun[len(begun) - 1]:
            is_after = True


def _run_alone(connection: LaneConnection, item: WorkItem):
    connection.watch(item)
    var error = connection.command("BEGIN IMMEDIATE")
    if not error and connection.run(item) == RunOutcome.DONE:
        error = connection.command("COMMIT")
    if connection.is_in_transaction():
        connection.watch(None)
        _ = connection.command("ROLLBACK")
    if error:
        item.forget_outcome()
        item.state[].error = error^
    elif not item.state[].error:
        connection.state[].target.count_commit(1)


def _answer(items: List[WorkItem]):
    # One letter for all, because each one wakes the loop. The fibers of a
    # database belong to one loop.
    var first = Optional[WorkItem](None)
    var last = Optional[WorkItem](None)
    for item in items:
        if not item.set_done():
            continue
        item.state[].next = None
        if last:
            last.value().state[].next = item
        else:
            first = item
        last = item
    if first:
        post_answers(first.value())
