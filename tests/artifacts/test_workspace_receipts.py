"""A repeated command id gives the first result again, from any process, and does nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from artifacts import clock, models
from artifacts.core import (
    AppEvent,
    CreateArtifact,
    InvalidState,
    NotFound,
    PatchFailed,
    Rejection,
    ValidationFailed,
    VersionConflict,
)
from artifacts.extensions import Transaction
from artifacts.workspace import CommandRunning, purge_receipts
from tests.support.builders import edit_text, make_artifact
from tests.support.cast import Cast
from tests.support.racing import PATIENCE, Background, together
from tests.support.verify import log_of


def test_the_first_outcome_comes_again_whatever_it_is_asked_with(cast: Cast) -> None:
    first = cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd")
    assert cast.ana.commit(CreateArtifact(kind="board"), command_id="cmd") == first
    assert log_of(cast.ana) == [(1, "artifact_created")]


def test_another_sender_or_workspace_has_its_own_ids(cast: Cast) -> None:
    for workspace in (cast.ana, cast.ben, cast.otto):
        workspace.commit(CreateArtifact(kind="paper"), command_id="cmd")
    assert len(log_of(cast.ana)) == 2
    assert len(log_of(cast.otto)) == 1


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (lambda paper: edit_text(paper, 1, "one", "1"), VersionConflict),
        (lambda paper: edit_text(paper, 2, "absent", "1"), PatchFailed),
        (lambda paper: edit_text("art_none", 1, "one", "1"), NotFound),
        (lambda paper: CreateArtifact(artifact_id=paper, kind="paper"), InvalidState),
        (lambda paper: CreateArtifact(kind="card", data={}), ValidationFailed),
    ],
)
def test_rejections_are_remembered_as_they_were(
    cast: Cast, command: Callable[[str], Any], expected: type[Rejection]
) -> None:
    paper = make_artifact(cast.ana)
    cast.ben.commit(edit_text(paper, 1, "three", "3"))
    with pytest.raises(expected) as first:
        cast.ana.commit(command(paper), command_id="cmd")
    with pytest.raises(expected) as again:
        cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd")
    assert again.value.payload() == first.value.payload()
    assert cast.ana.head_seq() == 2


def test_a_batch_is_remembered_with_its_outcomes_or_its_index(cast: Cast) -> None:
    items = [CreateArtifact(kind="paper"), CreateArtifact(kind="paper")]
    first = cast.ana.commit_all(items, command_id="cmd")
    assert cast.ana.commit_all([CreateArtifact(kind="board")], command_id="cmd") == first
    bad = [CreateArtifact(kind="paper"), CreateArtifact(kind="card")]
    for _ in range(2):
        with pytest.raises(ValidationFailed) as caught:
            cast.ana.commit_all(bad, command_id="bad")
        assert caught.value.index == 1
    assert cast.ana.head_seq() == 2


def test_the_same_id_with_another_body_is_refused_where_bodies_are_known(cast: Cast) -> None:
    first = cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd", body_sha256="a" * 64)
    with pytest.raises(ValidationFailed, match="Idempotency-Key"):
        cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd", body_sha256="b" * 64)
    again = CreateArtifact(kind="paper")
    assert cast.ana.commit(again, command_id="cmd", body_sha256="a" * 64) == first
    assert cast.ana.commit(again, command_id="cmd") == first


@pytest.mark.parametrize("command_id", ["", "x" * 129, "a\0b", "\ud800"])
def test_an_id_that_cannot_be_kept_is_refused(cast: Cast, command_id: str) -> None:
    with pytest.raises(ValidationFailed, match="command_id"):
        cast.ana.commit(CreateArtifact(kind="paper"), command_id=command_id)


def test_parallel_repeats_have_one_effect(cast: Cast) -> None:
    results = together(
        8, lambda number: cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd", wait=True)
    )
    assert len({repr(result) for result in results}) == 1
    assert log_of(cast.ana) == [(1, "artifact_created")]


def test_control_without_an_id_each_repeat_has_its_effect(cast: Cast) -> None:
    together(8, lambda number: cast.ana.commit(CreateArtifact(kind="paper")))
    assert len(log_of(cast.ana)) == 8


def test_a_repeat_while_the_first_still_runs(cast: Cast) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        inside.set()
        assert go_on.wait(PATIENCE)

    def send(**options: Any) -> Any:
        return cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd", **options)

    running = Background(lambda: send(also=[hold]))
    assert inside.wait(PATIENCE)
    if connection.vendor == "postgresql":  # on SQLite the write lock makes it wait
        with pytest.raises(CommandRunning):
            send()
    waiting = Background(lambda: send(wait=True))
    waiting.join(0.2)
    assert waiting.is_alive()
    go_on.set()
    assert running.result() == waiting.result()
    assert len(log_of(cast.ana)) == 1


def test_what_fails_is_not_remembered(cast: Cast) -> None:
    def fail(tx: Transaction) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd", also=[fail])
    assert not models.CommandReceipt.objects.exists()
    assert cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd").seq == 1


def test_old_receipts_are_purged_in_pages_and_ids_then_still_refuse(cast: Cast) -> None:
    command = CreateArtifact(kind="paper")
    cast.ana.commit(command, command_id="cmd0")
    for number in range(1, 4):
        cast.system.commit_all([AppEvent(name="x")], command_id=f"cmd{number}")
    assert purge_receipts(7) == 0
    with clock.moved(timedelta(days=8)):
        cast.system.commit_all([AppEvent(name="x")], command_id="young")
        assert [purge_receipts(7, page=3), purge_receipts(7, page=3), purge_receipts(7)] == [
            3,
            1,
            0,
        ]
    assert [row.command_id for row in models.CommandReceipt.objects.all()] == ["young"]
    with pytest.raises(InvalidState):
        cast.ana.commit(command, command_id="cmd0")
