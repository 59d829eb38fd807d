"""A group of proposals on one page, decided all or nothing through one command."""

from __future__ import annotations

import pytest

from artifacts import core
from artifacts.core import ProposeChange, PutArtifact
from tests.support.builders import edit_text, make_artifact, make_board, set_job
from tests.support.desk import Desk, fields_of, make_desk
from tests.support.kinds import Board, Paper

GROUP = "grp_desk"


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    return make_desk()


@pytest.fixture
def pair(desk: Desk) -> tuple[str, str, str, str]:
    """A paper and a board, each with a proposal of one group."""
    paper, board = make_artifact(desk.door(), Paper(text="one two")), make_board(desk.door())
    first = ProposeChange(change=edit_text(paper, 1, "two", "2"), group_id=GROUP)
    second = ProposeChange(change=set_job(board, 1, "job1", "done"), group_id=GROUP)
    for command in (first, second):
        desk.scribe().commit(command)
    return paper, board, first.proposal_id, second.proposal_id


def test_a_grouped_proposal_leads_to_its_group(desk: Desk, pair: tuple[str, ...]) -> None:
    text = desk.client("ana").get(desk.page(pair[2])).content.decode()
    assert "decided with it" in text
    assert desk.page(pair[2], group=True) in text
    page = desk.client("ana").post(desk.page(pair[2]), {"decision": "accept"})
    assert page.status_code == 409
    assert GROUP in page.content.decode()


def test_accept_all(desk: Desk, pair: tuple[str, ...]) -> None:
    url = desk.page(pair[2], group=True)
    text = desk.client("ana").get(url).content.decode()
    assert "<mark>two</mark>" in text
    assert "jobs" in text
    page = desk.decide(url, decision="accept")
    assert desk.door().get(Paper, pair[0]).data.text == "one 2"
    assert desk.door().get(Board, pair[1]).data.jobs["job1"].status == "done"
    assert "Accepted (seq" in page.content.decode()
    sets = {desk.door().revision(id, 2).change_set_id for id in pair[:2]}
    assert len(sets) == 1


def test_reject_all(desk: Desk, pair: tuple[str, ...]) -> None:
    desk.decide(desk.page(pair[3], group=True), decision="reject", reason="Not now.")
    assert {desk.door().proposal(id).status for id in pair[2:]} == {"rejected"}
    assert desk.door().group(GROUP).status == "rejected"


def test_accept_all_with_edits(desk: Desk, pair: tuple[str, ...]) -> None:
    url = desk.page(pair[2], group=True)
    typed = {f"{pair[2]}-text": "ONE 2"}
    assert desk.decide(url, decision="accept", **typed).status_code == 422
    desk.decide(url, decision="edit", **typed)
    assert desk.door().get(Paper, pair[0]).data.text == "ONE 2"
    assert desk.door().get(Board, pair[1]).data.jobs["job1"].status == "done"


def test_one_moved_head_stops_all_and_is_named(desk: Desk, pair: tuple[str, ...]) -> None:
    url = desk.page(pair[2], group=True)
    filled = desk.form(url)
    desk.door().commit(set_job(pair[1], 1, "job2", "done"))
    page = desk.client("ana").post(url, {**filled, "decision": "accept"})
    text = page.content.decode()
    assert page.status_code == 409
    assert desk.door().get(Paper, pair[0]).version == 1
    assert f"{pair[1]}: was at version 1, now at 2" in text
    again = desk.client("ana").post(url, {**fields_of(text), "decision": "accept"})
    assert again.status_code == 302
    assert desk.door().get(Board, pair[1]).version == 3


def test_a_whole_value_on_an_old_version_fails_the_group(desk: Desk, pair: tuple[str, ...]) -> None:
    put = PutArtifact(artifact_id=pair[0], kind="paper", data={"text": "x"}, base_version=1)
    desk.scribe().commit(ProposeChange(change=put, group_id=GROUP))
    text = desk.client("ana").get(desk.page(pair[2], group=True)).content.decode()
    assert "Accepting this group would fail:" in text
    assert 'value="accept"' not in text
    assert 'value="reject"' in text


def test_later_proposals_of_a_group_see_the_earlier_ones(desk: Desk, pair: tuple[str, ...]) -> None:
    more = ProposeChange(change=edit_text(pair[0], 1, "one", "1"), group_id=GROUP)
    desk.scribe().commit(more)
    url = desk.page(pair[2], group=True)
    text = desk.client("ana").get(url).content.decode()
    assert "<mark>one</mark> 2" in text
    desk.decide(url, decision="accept")
    assert desk.door().get(Paper, pair[0]).data.text == "1 2"
    assert isinstance(desk.door().read(last=1)[0].event, core.ProposalResolved)
