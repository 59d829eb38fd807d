"""What must hold when many write at once. Each claim has a control: the naive way, which fails."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, connections, transaction

from artifacts import clock, models
from artifacts.core import (
    AppEvent,
    Envelope,
    InvalidState,
    JsonPatch,
    Rejection,
    Resolved,
    ResolveGroup,
    RespondToProposal,
    Unavailable,
    VersionConflict,
)
from artifacts.store import database
from artifacts.store import transaction as store_transaction
from artifacts.workspace import Workspace, open_workspace
from tests.support.builders import (
    append_text,
    edit_text,
    make_artifact,
    make_board,
    make_proposal,
    set_job,
)
from tests.support.cast import BEN, SYSTEM, Cast, make_workspace
from tests.support.kinds import Board, Paper
from tests.support.racing import PATIENCE, Background, all_of, together
from tests.support.sites import wait_until
from tests.support.verify import assert_whole, envelopes_of, log_of
from tests.support.writers import append_naively, append_with_accidents, in_processes

on_postgresql = pytest.mark.skipif(
    "postgresql" not in str(connections["default"].settings_dict["ENGINE"]),
    reason="SQLite has one writer: there is no such race to lose",
)


@pytest.fixture
def seed() -> int:
    number = random.randrange(2**32)
    print("seed", number)
    return number


# The log


@contextmanager
def killing(chance: random.Random) -> Iterator[None]:
    """Kill other connections to the test database now and then, where there are such."""
    done = threading.Event()

    def kill() -> None:
        while not done.wait(0.2):
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                    "AND query ILIKE %s AND pid <> pg_backend_pid()",
                    ["%artifactr_%"],
                )
                pids = [pid for (pid,) in cursor.fetchall()]
                if pids:
                    cursor.execute("SELECT pg_terminate_backend(%s)", [chance.choice(pids)])

    if connection.vendor != "postgresql":
        yield
        return
    connection.close()  # this thread's own must survive
    killer = Background(kill)
    try:
        yield
    finally:
        done.set()
        killer.result()


def test_logs_have_no_gap_whatever_fails(cast: Cast, seed: int) -> None:
    """Eight processes, five workspaces; rollbacks, sleeping transactions, killed connections."""
    workspaces = [
        open_workspace(make_workspace(f"w{number}").public_id, actor=SYSTEM) for number in range(5)
    ]
    ids = [workspace.id for workspace in workspaces]
    with killing(random.Random(seed)):
        told = in_processes(8, append_with_accidents, [(ids, 20, seed + n) for n in range(8)])
    committed = {name for names in told for name in names}
    logged: set[str] = set()
    for workspace in workspaces:
        envelopes = envelopes_of(workspace)
        assert [each.seq for each in envelopes] == list(range(1, len(envelopes) + 1))
        assert [each.ts for each in envelopes] == sorted(each.ts for each in envelopes)
        logged |= {each.event.name for each in envelopes}  # type: ignore[union-attr]
        assert_whole(workspace)
    # Whoever was told so is in the log; a connection killed at its COMMIT leaves it open.
    assert committed <= logged
    assert len(logged) < 8 * 20, "no accident happened"


@on_postgresql
def test_control_a_plain_sequence_loses_rows_to_a_reader(cast: Cast, seed: int) -> None:
    # It is chance whether one short run loses any; five without a loss would be a miracle.
    lost = (_lost_to_a_naive_reader(seed + 10 * attempt) for attempt in range(5))
    assert any(lost)


def _lost_to_a_naive_reader(seed: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE naive_log (id bigserial PRIMARY KEY)")
    try:
        writing = Background(in_processes, 4, append_naively, [(40, seed + n) for n in range(4)])
        seen, last = 0, 0
        with connection.cursor() as cursor:
            while writing.is_alive():
                cursor.execute("SELECT id FROM naive_log WHERE id > %s ORDER BY id", [last])
                rows = cursor.fetchall()
                seen, last = seen + len(rows), rows[-1][0] if rows else last
            written: int = sum(writing.result())
            cursor.execute("SELECT count(*) FROM naive_log WHERE id > %s", [last])
            return written - seen - int(cursor.fetchone()[0])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE naive_log")


def test_a_tail_reader_never_skips(cast: Cast, seed: int) -> None:
    """Stopped and resumed at random, while others write."""
    chance = random.Random(seed)

    def write(number: int) -> None:
        for _ in range(15):
            cast.system.record(AppEvent(name=f"w{number}"))

    writers = [Background(write, number) for number in range(4)]
    seen: list[int] = []
    for _ in range(200):
        if not any(writer.is_alive() for writer in writers):
            break
        after = seen[-1] if seen else 0
        seen += [each.seq for each in cast.ana.read(after_seq=after, limit=chance.randint(1, 5))]
    all_of(writers)
    seen += [each.seq for each in cast.ana.read(after_seq=seen[-1] if seen else 0)]
    assert seen == list(range(1, 61))


def test_control_numbers_taken_without_the_lock_collide(cast: Cast) -> None:
    looked = threading.Barrier(4)

    def number(_: int) -> int:
        head = models.Workspace.objects.get(pk=cast.ana.pk).head_seq
        looked.wait(PATIENCE)
        return head + 1

    assert len(set(together(4, number))) < 4


def test_two_workspaces_do_not_wait_for_each_other(cast: Cast) -> None:
    with cast.system.transaction() as tx:
        tx.record(AppEvent(name="slow"))
        other = Background(make_artifact, cast.otto)
        if connection.vendor == "postgresql":
            other.result()
    other.result()
    assert (len(log_of(cast.system)), len(log_of(cast.otto))) == (1, 1)


def test_a_lock_waited_for_in_vain_is_try_again(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = database.PostgreSQL.lock.replace("10s", "200ms")
    monkeypatch.setattr(database.PostgreSQL, "lock", lock)

    def wait(_: int) -> object:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA busy_timeout = 200")
        return cast.ben.commit(append_text(cast.ben, paper, "!"))

    paper = make_artifact(cast.ana)
    with cast.ana.transaction():
        [answer] = together(1, wait)
    assert isinstance(answer, Unavailable)
    assert answer.retry_after >= 1
    assert cast.ana.head_seq() == 1


# Decisions


def test_a_proposal_is_decided_once(cast: Cast, seed: int) -> None:
    paper = make_artifact(cast.ben)
    proposal = make_proposal(cast.ben, edit_text(paper, 1, "two", "2"))
    chance = random.Random(seed)
    # An edited acceptance among them: on top of the proposal's result.
    more = JsonPatch.model_validate({"ops": [{"op": "replace", "path": "/text", "value": "mine"}]})
    answers = [
        RespondToProposal(proposal_id=proposal, decision="accept"),
        RespondToProposal(proposal_id=proposal, decision="reject"),
        RespondToProposal(proposal_id=proposal, decision="accept", changes=more),
    ]
    chosen = [chance.choice(answers) for _ in range(50)]
    results = together(50, lambda number: cast.ana.commit(chosen[number]))
    won = [result for result in results if isinstance(result, Resolved)]
    assert len(won) == 1
    for lost in results:
        if lost is not won[0]:
            assert isinstance(lost, InvalidState)
            assert "already" in lost.message
    assert [kind for _, kind in log_of(cast.ana)].count("proposal_resolved") == 1
    assert len(cast.ana.revisions(paper)) == (2 if won[0].decision == "accept" else 1)
    assert_whole(cast.ana)


def test_control_a_status_read_before_the_write_lets_several_decide(cast: Cast) -> None:
    paper = make_artifact(cast.ben)
    proposal = make_proposal(cast.ben, edit_text(paper, 1, "two", "2"))
    looked = threading.Barrier(6)

    def decide(_: int) -> bool:
        is_open = cast.ana.proposal(proposal).status == "pending"
        looked.wait(PATIENCE)
        return is_open

    assert sum(together(6, decide)) > 1


def test_many_reviewers_of_the_same_artifacts_do_not_deadlock(cast: Cast, seed: int) -> None:
    papers = [make_artifact(cast.ben) for _ in range(3)]
    groups = []
    for number in range(6):
        order = random.Random(seed + number).sample(papers, 3)
        for paper in order:
            edit = edit_text(paper, 1, "three", f"three {number}")
            make_proposal(cast.ben, edit, group_id=f"grp_{number}")
        groups.append(f"grp_{number}")
    results = together(
        6, lambda n: cast.ana.commit(ResolveGroup(group_id=groups[n], decision="accept"))
    )
    assert all(isinstance(result, Resolved | Rejection) for result in results), results
    assert any(isinstance(result, Resolved) for result in results)
    assert_whole(cast.ana)


# Edits


def test_no_update_is_lost(cast: Cast, seed: int) -> None:
    """Editors who read, think and write, some of them on what they read long ago."""
    paper = make_artifact(cast.ana, Paper(text="."))
    board = make_board(cast.ana, jobs=8)

    def edit(number: int) -> list[str]:
        chance = random.Random(seed + number)
        mine = cast.ana.as_actor(BEN.model_copy(update={"id": f"ben{number}"}))
        written: list[str] = []
        command = append_text(mine, paper, f"{number}-0;")
        for step in range(12):
            mark = f"{number}-{step};"
            if chance.random() < 0.7:  # else on a base that may be stale by now
                command = append_text(mine, paper, mark)
            with suppress(VersionConflict):
                mine.commit(command)
                written.append(mark)
        version = mine.get(Board, board).version
        with suppress(VersionConflict):
            mine.commit(set_job(board, version, f"job{number}", "done"))
        return written

    told = together(8, edit)
    revisions = cast.ana.revisions(paper, limit=500)
    assert len(revisions) == 1 + sum(map(len, told))
    # Each version is the one before it with one mark more: nobody wrote over another's.
    for before, after in pairwise(revisions):
        assert after.data["text"].startswith(before.data["text"])
    assert_whole(cast.ana)


def test_control_a_save_without_the_base_loses_updates(cast: Cast) -> None:
    tenant = models.Tenant.objects.create(name="")
    read = threading.Barrier(4)

    def edit(number: int) -> None:
        row = models.Tenant.objects.get(pk=tenant.pk)
        read.wait(PATIENCE)
        row.name += f"{number};"
        row.save()

    together(4, edit)
    tenant.refresh_from_db()
    assert tenant.name.count(";") < 4


# Lock, then load

TOGETHER = """
    SELECT w.head_seq, a.version FROM artifactr_workspace w
    JOIN artifactr_artifact a ON a.workspace_id = w.id AND a.public_id = %s
    WHERE w.id = %s FOR NO KEY UPDATE OF w"""


def while_another_commits(workspace: Workspace, paper: str, read: Any) -> Any:
    """What `read` gives, begun while another transaction holds the lock and then commits."""
    reading: Background
    with workspace.transaction() as tx:
        tx.commit(edit_text(paper, 1, "two", "2"))
        reading = Background(read)
        wait_until(_is_someone_waiting)
    return reading.result()


def _is_someone_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # kept until the transaction ends
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])


@on_postgresql
def test_control_lock_and_load_in_one_statement_gives_the_new_head_with_the_old_artifact(
    cast: Cast,
) -> None:
    paper = make_artifact(cast.ana)

    def read() -> Any:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(TOGETHER, [paper, cast.ana.pk])
            return cursor.fetchone()

    assert while_another_commits(cast.ana, paper, read) == (2, 1)


@on_postgresql
def test_lock_then_load_sees_what_was_committed_while_it_waited(cast: Cast) -> None:
    paper = make_artifact(cast.ana)
    edit = edit_text(paper, 2, "three", "3")
    outcome = while_another_commits(cast.ana, paper, lambda: cast.ben.commit(edit))
    assert outcome.version == 3
    assert cast.ana.get(Paper, paper).data.text == "one 2 3"


@pytest.fixture
def deferred(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SQLite whose host left the options as they are: transactions begin without the lock."""
    if connection.vendor != "sqlite":
        pytest.skip("an option of SQLite")
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "transaction_mode", None)
    # The threads stand for processes: they have no line to wait in.
    monkeypatch.setattr(database.SQLite, "writing", database.Database.writing)


def write_together(cast: Cast) -> list[Any]:
    def write(number: int) -> None:
        for _ in range(10):
            cast.system.record(AppEvent(name=f"w{number}"))

    return together(6, write)


def test_sqlite_without_immediate_still_queues_its_writers(cast: Cast, deferred: None) -> None:
    assert write_together(cast) == [None] * 6
    assert [seq for seq, _ in log_of(cast.system)] == list(range(1, 61))


def test_control_reading_before_the_lock_fails_there(
    cast: Cast, deferred: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database.SQLite, "begin", lambda self: None)
    assert any(isinstance(result, Unavailable) for result in write_together(cast))


@pytest.mark.parametrize(("fails", "succeeds"), [(1, True), (2, False)])
def test_a_place_taken_at_the_same_moment_is_tried_once_more(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, fails: int, succeeds: bool
) -> None:
    paper = make_artifact(cast.ana)
    command = append_text(cast.ana, paper, "!")
    attempts: list[int] = []
    begin = store_transaction.WriteTransaction.begin

    def moved(self: Any, *args: Any) -> Any:
        known = begin(self, *args)
        attempts.append(1)
        if len(attempts) <= fails:  # as if somebody had gone round the lock
            self.seen.artifacts[paper] = (self.seen.artifacts[paper][0], 99)
        return known

    monkeypatch.setattr(store_transaction.WriteTransaction, "begin", moved)
    if succeeds:
        assert cast.ana.commit(command).seq == 2
    else:
        with pytest.raises(InvalidState, match="same moment"):
            cast.ana.commit(command)
    assert len(attempts) == 2
    assert_whole(cast.ana)


def test_times_never_go_back(cast: Cast) -> None:
    cast.system.record(AppEvent(name="x"))
    with clock.moved(timedelta(hours=-1)):
        cast.system.record(AppEvent(name="x"))
    first, second = (Envelope.model_validate_json(text) for text in cast.system.read_text())
    assert first.ts == second.ts
