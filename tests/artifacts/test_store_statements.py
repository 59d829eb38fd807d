"""How much a commit asks of its database, counted where the bytes leave the process."""

from __future__ import annotations

import pytest
from django.db import connection

from artifacts import selectors, workspace
from artifacts.core import AppEvent, RespondToProposal
from tests.support.builders import (
    append_text,
    edit_text,
    make_artifact,
    make_board,
    make_proposal,
    set_job,
)
from tests.support.cast import Cast
from tests.support.wire import counted


def test_an_edit_is_few_statements_in_fewer_round_trips(cast: Cast) -> None:
    board = make_board(cast.ana, jobs=50)
    cast.ana.commit(set_job(board, 1, "job1", "doing"))  # statements are prepared now
    with counted() as wire:
        cast.ana.commit(set_job(board, 2, "job1", "done"))
    assert 3 <= len(wire.statements) <= 8, wire.statements
    if connection.vendor == "postgresql":
        assert len(wire.statements) <= 6
        assert wire.round_trips <= 4


@pytest.mark.parametrize("size", [1, 400])
def test_the_number_does_not_grow_with_log_and_artifacts(cast: Cast, size: int) -> None:
    paper = make_artifact(cast.ana)
    for start in range(0, size, 100):
        cast.system.commit_all([AppEvent(name="tick")] * min(100, size - start))
    cast.ana.commit(append_text(cast.ana, paper, "!"))
    edit = append_text(cast.ana, paper, "!")
    with counted() as wire:
        cast.ana.commit(edit)
    assert len(wire.statements) <= 8


def test_a_decision_is_few_statements(cast: Cast) -> None:
    for number in range(2):
        paper = make_artifact(cast.ana)
        answer = RespondToProposal(
            proposal_id=make_proposal(cast.ben, edit_text(paper, 1, "two", "2")),
            decision="accept",
        )
        with counted() as wire:
            cast.ana.commit(answer, command_id=f"cmd{number}")
    assert len(wire.statements) <= 12, wire.statements
    if connection.vendor == "postgresql":
        assert len(wire.statements) <= 8


def test_reading_the_tail_is_one_statement(cast: Cast) -> None:
    make_artifact(cast.ana)
    with counted() as wire:
        assert cast.ana.read_text(last=50)
    assert len(wire.statements) == 1


def test_a_replay_parses_nothing(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    make_artifact(cast.ana)
    monkeypatch.setattr(selectors, "from_json", None)
    monkeypatch.setattr(workspace, "Envelope", None)
    assert len(cast.ana.read_text()) == 1
