"""Reads: windows of the log, lists oldest first, following, cursors; each inside one workspace."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from artifacts import models
from artifacts.core import AppEvent, ArchiveArtifact, NotFound, ValidationFailed
from artifacts.pool import close_pool
from artifacts.selectors import Window
from artifacts.store import publish
from artifacts.workspace import Workspace, on_append
from tests.support.builders import (
    append_text,
    edit_text,
    make_artifact,
    make_board,
    make_proposal,
    make_thread,
    post,
)
from tests.support.cast import Cast
from tests.support.kinds import Paper
from tests.support.racing import Background, together
from threads import selectors


def seqs(workspace: Workspace, **window: Any) -> list[int]:
    return [each.seq for each in workspace.read(**window)]


@pytest.fixture
def talk(cast: Cast) -> tuple[Cast, str, str]:
    """1, 2 open threads, 3 is in the first, 4 in the second, 5 an artifact's, 6 nobody's."""
    first, second = make_thread(cast.ana), make_thread(cast.ana)
    post(cast.ana, first)
    post(cast.ana, second)
    make_artifact(cast.scribe(second))
    cast.system.record(AppEvent(name="noted"))
    return cast, first, second


def test_a_window_is_bounded_on_both_sides_and_oldest_first(talk: tuple[Cast, str, str]) -> None:
    ana = talk[0].ana
    assert seqs(ana) == [1, 2, 3, 4, 5, 6]
    assert seqs(ana, after_seq=2, before_seq=6) == [3, 4, 5]
    assert seqs(ana, after_seq=2, limit=2) == [3, 4]
    assert seqs(ana, last=2) == [5, 6]
    assert seqs(ana, after_seq=1, before_seq=5, last=2) == [3, 4]
    assert seqs(ana, limit=0) == []
    assert seqs(ana, after_seq=6) == []
    assert seqs(ana, after_seq=2**70) == []
    assert seqs(ana, after_seq=-5, before_seq=2**70) == [1, 2, 3, 4, 5, 6]


def test_a_reader_of_threads_gets_what_the_delivery_rule_says(talk: tuple[Cast, str, str]) -> None:
    cast, first, second = talk
    assert seqs(cast.ana, threads=frozenset({first})) == [1, 3, 5, 6]
    assert seqs(cast.ana, threads=frozenset({first, second})) == [1, 2, 3, 4, 5, 6]
    assert seqs(cast.ana, threads=frozenset()) == [5, 6]
    assert seqs(cast.ana, threads=frozenset({first}), last=2) == [5, 6]
    assert seqs(cast.ana, threads=frozenset({first}), limit=2) == [1, 3]


def test_first_and_last_together_are_refused(cast: Cast) -> None:
    with pytest.raises(ValidationFailed, match="last"):
        cast.ana.read(limit=1, last=1)
    with pytest.raises(ValidationFailed, match="limit"):
        cast.ana.read(limit=-1)


def test_texts_are_what_was_stored(cast: Cast) -> None:
    make_artifact(cast.ana)
    stored = list(models.Event.objects.values_list("text", flat=True))
    assert cast.ana.read_text() == stored
    [event] = cast.ana.events(Window())
    assert (event.seq, event.type, event.text) == (1, "artifact_created", stored[0])


def test_the_tail_of_a_long_log_touches_its_tail_only(cast: Cast) -> None:
    for _ in range(6):
        cast.system.commit_all([AppEvent(name="tick")] * 100)
    rows = models.Event.objects.filter(workspace_id=cast.ana.pk, seq__gt=3).order_by("-seq")[:50]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE artifactr_event")
        scan = next(line for line in rows.explain(analyze=True).splitlines() if "Scan" in line)
        assert "Index Scan Backward" in scan
        assert re.search(r"actual .*rows=50(\.00)? ", scan), scan
    else:
        plan = rows.explain()
        assert "USING INDEX" in plan
        assert "TEMP B-TREE" not in plan
    assert seqs(cast.ana, after_seq=3, last=50) == list(range(551, 601))


def test_lists_come_oldest_first_in_pages(cast: Cast) -> None:
    ids = [make_artifact(cast.ana) for _ in range(3)]
    board = make_board(cast.ana)
    make_artifact(cast.otto)
    assert [each.id for each in cast.ana.artifacts()] == [*ids, board]
    assert [each.id for each in cast.ana.artifacts("paper", after=ids[0], limit=1)] == [ids[1]]
    cast.ana.commit(append_text(cast.ana, ids[0], "!"))
    assert cast.ana.artifacts(limit=1)[0].data == {"text": "one two three!"}
    assert [each.version for each in cast.ana.revisions(ids[0])] == [1, 2]
    assert [each.version for each in cast.ana.revisions(ids[0], after=1)] == [2]
    with pytest.raises(ValidationFailed, match="after"):
        cast.ana.artifacts(after="art_none")
    with pytest.raises(NotFound):
        cast.ana.revisions("art_none")
    with pytest.raises(NotFound):
        cast.ana.revision(ids[0], 3)


@pytest.mark.parametrize("id", ["", "a/b", "a\0", "a\ud800", "a" * 129])
def test_what_could_be_no_id_is_not_there(cast: Cast, id: str) -> None:
    for read in (
        cast.ana.artifact,
        cast.ana.revisions,
        lambda id: cast.ana.revision(id, 1),
        cast.ana.change_set,
        cast.ana.proposal,
        cast.ana.group,
        lambda id: selectors.thread(cast.ana, id),
        lambda id: selectors.run(cast.ana, id),
    ):
        with pytest.raises(NotFound):
            read(id)


def test_archived_artifacts_are_listed_when_asked_for(cast: Cast) -> None:
    kept, gone = make_artifact(cast.ana), make_artifact(cast.ana)
    cast.ana.commit(ArchiveArtifact(artifact_id=gone, base_version=1))
    assert [each.id for each in cast.ana.artifacts()] == [kept]
    assert [each.id for each in cast.ana.artifacts(archived=True)] == [gone]
    assert [each.id for each in cast.ana.artifacts(archived=None)] == [kept, gone]


def test_proposals_are_listed_by_status_and_artifact(cast: Cast) -> None:
    papers = [make_artifact(cast.ben) for _ in range(2)]
    made = [make_proposal(cast.ben, edit_text(paper, 1, "two", "2")) for paper in papers]
    assert [each.id for each in cast.ana.proposals()] == made
    assert [each.id for each in cast.ana.proposals("pending", after=made[0])] == [made[1]]
    assert [each.id for each in cast.ana.proposals(artifact_id=papers[1])] == [made[1]]
    assert cast.ana.proposals("accepted") == []
    assert cast.ana.proposal(made[0]).result == {"text": "one 2 three"}
    for unknown in (cast.otto.proposal, cast.ana.group, cast.ana.change_set):
        with pytest.raises(NotFound):
            unknown(made[0])


def test_the_number_of_queries_does_not_grow_with_a_list(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    for _ in range(2):
        make_proposal(cast.ben, edit_text(make_artifact(cast.ana), 1, "two", "2"))
        for read in (cast.ana.artifacts, cast.ana.proposals, cast.ana.read_text):
            with django_assert_num_queries(1):
                assert read()


def test_following_replays_and_goes_on_without_a_seam(cast: Cast) -> None:
    make_artifact(cast.ana)
    make_artifact(cast.ana)
    found: Iterator[Any] = cast.ana.follow(after_seq=1, poll_seconds=30)
    assert next(found).seq == 2
    later = Background(cast.system.record, AppEvent(name="late"), after=0.2)
    # Woken by the commit in this process, long before the poll.
    assert next(found).event == AppEvent(name="late")
    later.result()


def test_a_commit_elsewhere_is_met_at_the_next_poll(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "_wake", lambda committed: None)
    found = cast.ana.follow(poll_seconds=0.05)
    later = Background(cast.system.record, AppEvent(name="late"), after=0.1)
    assert next(found).seq == 1
    later.result()


def test_following_more_than_a_page_skips_and_repeats_nothing(cast: Cast) -> None:
    for _ in range(11):
        cast.system.commit_all([AppEvent(name="tick")] * 100)
    found = cast.ana.follow(poll_seconds=30)
    assert [each.seq for each in itertools.islice(found, 1100)] == list(range(1, 1101))


def test_a_coroutine_follows_too_and_leaves_nothing_behind(cast: Cast) -> None:
    async def read(seen: list[int], enough: asyncio.Event) -> None:
        async for envelope in cast.ana.afollow(poll_seconds=30):
            seen.append(envelope.seq)
            if len(seen) == 3:
                enough.set()

    async def go() -> list[int]:
        seen: list[int] = []
        enough = asyncio.Event()
        reading = asyncio.create_task(read(seen, enough))
        for number in range(3):
            await cast.system.arecord(AppEvent(name=f"n{number}"))
        await asyncio.wait_for(enough.wait(), 20)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        return seen

    try:
        assert async_to_sync(go)() == [1, 2, 3]
        assert cast.ana.pk not in publish._followers
    finally:
        close_pool()


def test_a_wake_up_comes_after_commit_and_ends_when_told(cast: Cast) -> None:
    heads: list[int] = []
    end = on_append(cast.ana.pk, lambda _: heads.append(cast.ana.head_seq()))
    make_artifact(cast.ana)
    make_artifact(cast.otto)
    end()
    make_artifact(cast.ana)
    assert heads == [1]


def test_a_cursor_only_moves_forward(cast: Cast) -> None:
    assert cast.ana.cursor("mirror") == 0
    cast.ana.save_cursor("mirror", 7)
    cast.ana.save_cursor("mirror", 3)
    assert cast.ana.cursor("mirror") == 7
    cast.ana.save_cursor("mirror", 9)
    assert (cast.ana.cursor("mirror"), cast.otto.cursor("mirror")) == (9, 0)
    for name, seq in (("", 1), ("x" * 201, 1), ("mirror", -1), ("mirror", 2**63)):
        with pytest.raises(ValidationFailed):
            cast.ana.save_cursor(name, seq)


def test_a_late_save_in_another_thread_does_not_move_a_cursor_back(cast: Cast) -> None:
    parts = [list(range(1, 41))[start::4][::-1] for start in range(4)]

    def save(number: int) -> None:
        for seq in parts[number]:
            cast.ana.save_cursor("mirror", seq)

    together(4, save)
    assert cast.ana.cursor("mirror") == 40


def test_typed_reads_edit(cast: Cast) -> None:
    paper = make_artifact(cast.ana)

    def change(draft: Paper) -> None:
        draft.text = draft.text.upper()

    read = cast.ana.get(Paper, paper)
    cast.ana.commit(read.edit(change))
    assert cast.ana.get(Paper, paper).data.text == "ONE TWO THREE"
    assert read.data.text == "one two three"
