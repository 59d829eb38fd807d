"""The decision page: what it shows, and that each of its buttons is a command of the write path."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client

from artifacts import core, models
from artifacts.core import JsonPatch, ProposeChange, RespondToProposal
from artifacts.core.commands import ArtifactCommand
from tests.support.builders import edit_text, make_artifact, make_board, set_job
from tests.support.desk import THREAD, Desk, fields_of, make_desk
from tests.support.kinds import Board, Card, Paper

TEXT = "one two three\nfour five six\nseven eight nine\n"


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    return make_desk()


def propose(desk: Desk, change: ArtifactCommand, **more: str) -> str:
    outcome = desk.scribe(run_id="run_desk").commit(ProposeChange(change=change, **more))
    assert isinstance(outcome, core.Proposed)
    return outcome.proposal_id


def paper(desk: Desk, text: str = TEXT) -> str:
    return make_artifact(desk.door(), Paper(text=text))


def test_page_shows_what_who_and_why(desk: Desk) -> None:
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"), rationale="Digits read faster.")
    text = desk.client("ana").get(desk.page(proposal)).content.decode()
    assert "<mark>five</mark>" in text
    assert "<mark>5</mark>" in text
    for told in (
        "Digits read faster.",
        "scribe for Ben",
        THREAD,
        "run_desk",
        "made on 1",
        proposal,
    ):
        assert told in text


def test_accept(desk: Desk) -> None:
    id = paper(desk)
    page = desk.decide(desk.page(propose(desk, edit_text(id, 1, "five", "5"))), decision="accept")
    assert desk.door().get(Paper, id).data.text == TEXT.replace("five", "5")
    last = desk.door().read(last=1)[0]
    assert isinstance(last.event, core.ProposalResolved)
    assert last.actor == desk.actor("ana")
    text = page.content.decode()
    assert f"Accepted: {id} is now at version 2 (seq {last.seq})" in text
    assert "Accepted by Ana" in text
    assert f"seq {last.seq}</a>" in text


def test_reject_tells_the_reason(desk: Desk) -> None:
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"))
    page = desk.decide(desk.page(proposal), decision="reject", reason="Words are better.")
    assert desk.door().get(Paper, id).version == 1
    last = desk.door().read(last=1)[0].event
    assert isinstance(last, core.ProposalResolved)
    assert (last.decision, last.reason) == ("reject", "Words are better.")
    assert "Reason: Words are better." in page.content.decode()


def test_the_same_event_as_the_command_gives(desk: Desk) -> None:
    """The page decides nothing itself: its accept and the plain command log the same."""
    logged = []
    for by_page in (True, False):
        id = paper(desk)
        proposal = propose(desk, edit_text(id, 1, "five", "5"))
        command = RespondToProposal(proposal_id=proposal, decision="accept")
        if by_page:
            desk.decide(desk.page(proposal), decision="accept")
        else:
            desk.door("ana").commit(command)
        events = [each.event.wire() for each in desk.door().read(last=2)]
        logged.append(json.dumps(events).replace(id, "ID").replace(proposal, "PROPOSAL"))
    assert logged[0] == logged[1]


def test_accept_with_own_text(desk: Desk) -> None:
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"))
    mine = TEXT.replace("five", "5").replace("nine", "ten").replace("\n", "\r\n")
    page = desk.decide(desk.page(proposal), decision="edit", text=mine)
    assert desk.door().get(Paper, id).data.text == TEXT.replace("five", "5").replace("nine", "ten")
    assert desk.door().revision(id, 2).edited
    assert "Accepted with your edits" in page.content.decode()
    assert "The reviewer's edits on top of what was proposed" in page.content.decode()
    note = core.render_notes(
        core.change_notes(desk.door().read(), viewer=desk.scribe().actor, follows=[id])
    )
    assert "with own edits" in note


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "\n\nleading", "tail\n\n", " spaces \n", "a\nb"])
def test_an_untouched_text_comes_back_as_it_was(desk: Desk, text: str) -> None:
    id = paper(desk, text="before")
    change = core.PutArtifact(artifact_id=id, kind="paper", data={"text": text}, base_version=1)
    desk.decide(desk.page(propose(desk, change)), decision="edit")
    assert desk.door().get(Paper, id).data.text == text
    assert not desk.door().revision(id, 2).edited


def test_accept_with_own_data(desk: Desk) -> None:
    id = make_board(desk.door())
    proposal = propose(desk, set_job(id, 1, "job1", "done"))
    url = desk.page(proposal)
    mine = json.loads(desk.form(url)["json"])
    mine["jobs"]["job2"]["title"] = "Rename me"
    desk.decide(url, decision="edit", json=json.dumps(mine))
    board = desk.door().get(Board, id).data
    assert (board.jobs["job1"].status, board.jobs["job2"].title) == ("done", "Rename me")


def test_keep_the_rest_as_a_proposal(desk: Desk) -> None:
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"))
    desk.decide(desk.page(proposal), decision="edit", text=TEXT + "ten\n", keep_rest="on")
    rest = desk.door().proposals("pending")
    assert len(rest) == 1
    assert rest[0].proposed_by == desk.scribe(run_id="run_desk").actor
    assert rest[0].result == {"text": TEXT.replace("five", "5")}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("{", "is not valid JSON"),
        ("[]", "Write a JSON object"),
        ('{"title": "x", "title": "y"}', "twice"),
        ('{"title": "x", "points": NaN}', "NaN"),
        ('{"title": "x", "points": 101}', "points: Input should be less than or equal to 100"),
        ('{"title": "x", "colour": 1}', "colour: Extra inputs are not permitted"),
        ('{"title": "x\\u0000"}', "NUL"),
        ('{"title": "x\x00"}', "Null characters are not allowed"),
        ('{"title": "\\ud800"}', "surrogate"),
        ("[" * 50 + "]" * 50, "depth"),
    ],
)
def test_unusable_data_is_told_at_the_field_and_kept(desk: Desk, typed: str, told: str) -> None:
    id = make_artifact(desk.door(), Card(title="a"))
    patch = JsonPatch.model_validate({"ops": [{"op": "replace", "path": "/title", "value": "b"}]})
    change = core.EditArtifact(artifact_id=id, base_version=1, patch=patch)
    url, head = desk.page(propose(desk, change)), desk.door().head_seq()
    page = desk.decide(url, decision="edit", json=typed, reason="kept too")
    text = page.content.decode()
    assert page.status_code == 422
    assert told in text
    assert "kept too" in text
    assert fields_of(text)["json"] == typed
    assert desk.door().head_seq() == head


def test_edited_and_then_plainly_accepted_is_asked_about(desk: Desk) -> None:
    """Otherwise what somebody has just typed would be lost without a word."""
    id = paper(desk)
    url = desk.page(propose(desk, edit_text(id, 1, "five", "5")))
    page = desk.decide(url, decision="accept", text="my own words")
    assert page.status_code == 422
    assert "You have edited the result" in page.content.decode()
    assert fields_of(page.content.decode())["text"] == "my own words"
    assert desk.door().get(Paper, id).version == 1


def test_what_changed_since_the_page_was_opened_is_not_decided(desk: Desk) -> None:
    id = paper(desk)
    url = desk.page(propose(desk, edit_text(id, 1, "five", "5")))
    filled = desk.form(url)
    desk.door().commit(edit_text(id, 1, "nine", "NINE"))
    typed = {"decision": "edit", "text": TEXT.replace("one", "ONE"), "reason": "mine"}
    page = desk.client("ana").post(url, {**filled, **typed})
    text = page.content.decode()
    assert page.status_code == 409
    assert desk.door().get(Paper, id).version == 2
    assert "is at version 2, the command is based on 1" in text
    assert "seven eight NINE" in text
    assert fields_of(text)["text"].replace("\r\n", "\n") == typed["text"]
    assert fields_of(text)["reason"] == "mine"
    # What the kept text would take back is shown, and the second try is on what is there now.
    assert "Look for changes of others that it takes back" in text
    again = desk.client("ana").post(url, {**fields_of(text), "decision": "edit"})
    assert again.status_code == 302
    assert desk.door().get(Paper, id).version == 3


def test_decided_by_somebody_else_meanwhile(desk: Desk) -> None:
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"))
    filled = desk.form(desk.page(proposal))
    reject = RespondToProposal(proposal_id=proposal, decision="reject", reason="no")
    desk.door("mia").commit(reject)
    page = desk.client("ana").post(desk.page(proposal), {**filled, "decision": "accept"})
    assert page.status_code == 409
    assert "this proposal is already rejected" in page.content.decode().lower()
    assert "Rejected by Mia" in page.content.decode()
    assert desk.door().get(Paper, id).version == 1


def test_a_stale_proposal_shows_what_it_would_write_now(desk: Desk) -> None:
    id = paper(desk)
    url = desk.page(propose(desk, edit_text(id, 1, "five", "5")))
    desk.door().commit(edit_text(id, 1, "nine", "NINE"))
    text = desk.client("ana").get(url).content.decode()
    assert "this was made on version 1, it is now at 2" in text
    assert "What changed since" in text
    desk.decide(url, decision="accept")
    assert desk.door().get(Paper, id).data.text == TEXT.replace("five", "5").replace("nine", "NINE")


def test_a_proposal_that_no_longer_applies_says_why(desk: Desk) -> None:
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"))
    url = desk.page(proposal)
    filled = desk.form(url)
    desk.door().commit(edit_text(id, 1, "four five six", "gone"))
    text = desk.client("ana").get(url).content.decode()
    assert "Accepting this would fail:" in text
    assert "old does not occur in the field" in text
    assert 'value="accept"' not in text
    filled.pop("expect")
    page = desk.client("ana").post(url, {**filled, "decision": "accept"})
    assert page.status_code == 422
    assert desk.door().proposal(proposal).status == "pending"
    desk.decide(url, decision="reject")
    assert desk.door().proposal(proposal).status == "rejected"


def test_a_whole_value_is_never_rebased(desk: Desk) -> None:
    id = paper(desk)
    change = core.PutArtifact(artifact_id=id, kind="paper", data={"text": "x"}, base_version=1)
    url = desk.page(propose(desk, change))
    desk.door().commit(edit_text(id, 1, "nine", "NINE"))
    text = desk.client("ana").get(url).content.decode()
    assert "Accepting this would fail:" in text
    assert "As it was proposed, against version 1" in text


def test_creating_and_archiving(desk: Desk) -> None:
    create = core.CreateArtifact(artifact_id="art_new", kind="paper", data={"text": "fresh"})
    url = desk.page(propose(desk, create))
    assert "none yet" in desk.client("ana").get(url).content.decode()
    desk.decide(url, decision="accept")
    assert desk.door().get(Paper, "art_new").version == 1
    archive = core.ArchiveArtifact(artifact_id="art_new", base_version=1)
    url = desk.page(propose(desk, archive))
    assert "makes this artifact read-only" in desk.client("ana").get(url).content.decode()
    assert desk.decide(url, decision="edit", text="x").status_code == 422
    desk.decide(url, decision="accept")
    assert desk.door().artifact("art_new").archived


def test_nobody_decides_their_own(desk: Desk) -> None:
    id = paper(desk)
    change = ProposeChange(change=edit_text(id, 1, "five", "5"), proposal_id="prp_mine")
    desk.door("ana").commit(change)
    url = desk.page("prp_mine")
    text = desk.client("ana").get(url).content.decode()
    assert "somebody else decides it" in text
    assert "<form method" not in text.split('<aside class="artifactr-side"')[1]
    page = desk.client("ana").post(url, {"decision": "accept"})
    assert page.status_code == 403
    assert desk.door().proposal("prp_mine").status == "pending"


def test_sent_twice_decides_once(desk: Desk) -> None:
    id = paper(desk)
    url = desk.page(propose(desk, edit_text(id, 1, "five", "5")))
    filled = {**desk.form(url), "decision": "accept"}
    first, second = (desk.client("ana").post(url, filled, follow=True) for _ in range(2))
    assert first.status_code == second.status_code == 200
    assert "Accepted:" in second.content.decode()
    assert desk.door().get(Paper, id).version == 2


def test_many_decide_at_once_and_one_wins(desk: Desk) -> None:
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"))
    url, ways = desk.page(proposal), ["accept", "reject", "edit"] * 4
    forms = [{**desk.form(url), "decision": way} for way in ways]
    clients = [Client() for _ in ways]
    for client in clients:
        client.force_login(desk.users["ana"])
    together = Barrier(len(ways))

    def send(number: int) -> int:
        together.wait()
        try:
            return clients[number].post(url, forms[number]).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(ways)) as pool:
        answers = sorted(pool.map(send, range(len(ways))))
    assert answers == [302] + [409] * (len(ways) - 1)
    events = [each.event.type for each in desk.door().read()]
    assert events.count("proposal_resolved") == 1
    assert desk.door().proposal(proposal).is_resolved


@pytest.mark.parametrize(
    "broken",
    [
        {"decision": "perhaps"},
        {"decision": ""},
        {"expect": "{"},
        {"expect": '{"prp_x": {"head_version": "two"}}'},
        {"expect": "[" * 100},
        {"command_id": "x" * 129},
        {"reason": "a\x00b"},
        {"reason": "é" * 3000},
    ],
)
def test_a_broken_form_is_refused_and_stores_nothing(desk: Desk, broken: dict[str, str]) -> None:
    id = paper(desk)
    url = desk.page(propose(desk, edit_text(id, 1, "five", "5")))
    head = desk.door().head_seq()
    page = desk.decide(url, **{"decision": "accept", **broken})
    assert page.status_code == 422
    assert "Nothing was decided." in page.content.decode()
    assert desk.door().head_seq() == head


def test_a_form_takes_no_other_fields(desk: Desk) -> None:
    """Every column of every row of the app, sent along: nothing but the decision happens."""
    id = paper(desk)
    proposal = propose(desk, edit_text(id, 1, "five", "5"))
    stuffed = {
        column.name: "1"
        for model in (models.Proposal, models.Artifact, models.Workspace, models.Membership)
        for column in model._meta.fields
        if column.name != "reason"
    }
    url = desk.page(proposal)
    filled = {**stuffed, **desk.form(url), "decision": "accept"}
    assert desk.client("ana").post(url, filled).status_code == 302
    row = models.Proposal.objects.get(public_id=proposal)
    assert (row.status, row.kind, row.artifact_id) == ("accepted", "paper", id)
    assert models.Membership.objects.get(user=desk.users["ana"]).role == "reviewer"


def test_text_of_others_is_text(desk: Desk) -> None:
    script = "<script>alert(1)</script>"
    id = make_artifact(desk.door(), Paper(text=f"one\n{script}\ntwo"), artifact_id="art_<i>")
    change = edit_text(id, 1, "two", f'"{script}')
    proposal = propose(desk, change, rationale=script)
    text = desk.client("ana").get(desk.page(proposal)).content.decode()
    assert script not in text
    assert "<i>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_a_large_change_says_so_and_offers_the_whole_text(desk: Desk) -> None:
    long = "\n".join(f"line {number}" for number in range(30_000))
    id = paper(desk, text=long)
    change = core.PutArtifact(
        artifact_id=id, kind="paper", data={"text": long[::-1]}, base_version=1
    )
    proposal = propose(desk, change)
    text = desk.client("ana").get(desk.page(proposal)).content.decode()
    assert "have more than 400,000 characters" in text
    row = models.Proposal.objects.get(public_id=proposal)
    for side, expected in (("before", long), ("after", long[::-1])):
        url = f"/admin/artifactr/proposal/{row.pk}/whole/{side}/"
        assert url in text
        whole = desk.client("ana").get(url)
        assert whole.content.decode() == expected
        assert whole.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert (
        desk.client("ana").get(f"/admin/artifactr/proposal/{row.pk}/whole/up/").status_code == 404
    )
    assert (
        desk.client("otto").get(f"/admin/artifactr/proposal/{row.pk}/whole/after/").status_code
        == 404
    )
