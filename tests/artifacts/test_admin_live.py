"""What a page of the admin tells its script, and the look that decides nothing."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from artifacts import models
from artifacts.core import ProposeChange, RespondToProposal
from artifacts.surfaces import live_pages
from tests.support.builders import edit_text, make_artifact
from tests.support.desk import Desk, fields_of, make_desk
from tests.support.kinds import Paper

QUEUE = reverse("admin:artifactr_proposal_changelist")
LOG = reverse("admin:artifactr_event_changelist")
SCRIPT = '<script src="/static/threads/desk.js" type="module"></script>'
TEXT = "one two three\nfour five six\n"


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    desk = make_desk()
    make_artifact(desk.door(), Paper(text=TEXT), artifact_id="art_paper")
    change = edit_text("art_paper", 1, "five", "5")
    desk.scribe().commit(ProposeChange(change=change, proposal_id="prp_1"))
    return desk


def told(page: str) -> Any:
    """What a page says to its script, or None."""
    found = re.search(r'id="artifactr-live" data-live="([^"]*)"', page)
    return json.loads(unescape(found[1])) if found else None


def text_of(desk: Desk, url: str, name: str = "ana") -> str:
    return desk.client(name).get(url).content.decode()


@pytest.mark.parametrize(("url", "page"), [(QUEUE, "queue"), (LOG, "log")])
def test_a_list_says_which_logs_it_was_made_from(desk: Desk, url: str, page: str) -> None:
    text = text_of(desk, url)
    head = desk.door().head_seq()
    assert told(text) == {"page": page, "places": {desk.row.public_id: head}, "is_partial": False}
    assert SCRIPT in text
    assert told(text_of(desk, url, "otto"))["places"] == {desk.elsewhere.public_id: 0}


def test_a_list_over_many_logs_follows_the_latest_ones(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_pages, "FOLLOWED", 1)
    ana = desk.users["ana"]
    models.Membership.objects.create(workspace=desk.elsewhere, user=ana, role="viewer")
    shown = told(text_of(desk, QUEUE))
    assert (list(shown["places"]), shown["is_partial"]) == ([desk.row.public_id], True)
    chosen = told(text_of(desk, f"{QUEUE}?workspace={desk.elsewhere.public_id}"))
    assert (list(chosen["places"]), chosen["is_partial"]) == ([desk.elsewhere.public_id], False)


def test_a_superuser_s_list_follows_what_it_shows(desk: Desk) -> None:
    assert len(told(text_of(desk, QUEUE, "root"))["places"]) == 2


def test_a_row_names_its_proposal(desk: Desk) -> None:
    badge = f'data-workspace="{desk.row.public_id}" data-proposal="prp_1">pending</span>'
    assert badge in text_of(desk, QUEUE)


def test_a_decision_page_says_what_it_shows_while_it_is_open(desk: Desk) -> None:
    url = desk.page("prp_1")
    text = text_of(desk, url)
    assert told(text) == {
        "page": "decision",
        "places": {desk.row.public_id: desk.door().head_seq()},
        "proposals": ["prp_1"],
        "artifacts": {"art_paper": 1},
    }
    assert SCRIPT in text
    desk.door("ana").commit(RespondToProposal(proposal_id="prp_1", decision="reject"))
    assert told(text_of(desk, url)) is None


def test_a_look_decides_nothing_and_keeps_what_was_typed(desk: Desk) -> None:
    url = desk.page("prp_1")
    mine = TEXT.replace("five", "V")
    form = {**desk.form(url), "decision": "look", "reason": "Roman.", "text": mine}
    desk.door().commit(edit_text("art_paper", 1, "one", "ONE"))
    answer = desk.client("ana").post(url, form)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "This is how it stands now" in page
    assert told(page)["artifacts"] == {"art_paper": 2}
    kept = fields_of(page)
    assert (kept["reason"], kept["text"]) == ("Roman.", mine.replace("\n", "\r\n"))
    assert "Your text against what accepting would write now" in page
    assert desk.door().proposal("prp_1").status == "pending"
    # What was shown with the look is what is decided on.
    done = desk.client("ana").post(url, {**kept, "decision": "edit"}, follow=True)
    assert "Accepted with your edits" in done.content.decode()


def test_a_look_by_somebody_who_typed_nothing_shows_the_new_result(desk: Desk) -> None:
    url = desk.page("prp_1")
    form = {**desk.form(url), "decision": "look"}
    desk.door().commit(edit_text("art_paper", 1, "one", "ONE"))
    page = desk.client("ana").post(url, form).content.decode()
    assert fields_of(page)["text"].startswith("ONE two")
    assert "Your text against" not in page
    done = desk.client("ana").post(url, {**fields_of(page), "decision": "accept"}, follow=True)
    assert "Accepted:" in done.content.decode()


def test_what_has_no_field_any_more_is_there_to_copy(desk: Desk) -> None:
    url = desk.page("prp_1")
    typed = {"reason": "My <b>reason</b>", "text": "My own text"}
    form = {**desk.form(url), "decision": "look", **typed}
    # The change does not apply any more: there is no result to edit.
    desk.door().commit(edit_text("art_paper", 1, "five", "cinco"))
    page = desk.client("ana").post(url, form).content.decode()
    assert "<pre>My own text</pre>" in page
    assert fields_of(page)["reason"] == "My <b>reason</b>"
    # Somebody has decided: there is no form at all.
    desk.door("mia").commit(RespondToProposal(proposal_id="prp_1", decision="reject"))
    page = desk.client("ana").post(url, form).content.decode()
    assert "<pre>My own text</pre>" in page
    assert "<pre>My &lt;b&gt;reason&lt;/b&gt;</pre>" in page


def test_who_may_not_decide_may_not_post_a_look(desk: Desk) -> None:
    url = desk.page("prp_1")
    answer = desk.client("vera").post(url, {"decision": "look"})
    assert answer.status_code == 403
