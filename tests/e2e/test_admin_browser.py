"""The review desk in a real browser, under the site's Content-Security-Policy: work is done with
pointer and keyboard, nothing is blocked, nothing overflows, and text of others stays text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from artifacts import models
from artifacts.core import ProposeChange
from tests.support import browser
from tests.support.builders import edit_text, make_artifact, make_board, make_run, set_job
from tests.support.desk import THREAD, Desk, make_desk
from tests.support.kinds import Paper

pytestmark = pytest.mark.browser

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TEXT = f"# Plan\n\none two three\nfour five six\n{SCRIPT}\n"


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    """A paper and a board, each with a proposal by the agent."""
    desk = make_desk()
    scribe = desk.scribe(run_id=make_run(desk.scribe(), THREAD))
    paper = make_artifact(desk.door(), Paper(text=TEXT), artifact_id="art_paper")
    board = make_board(desk.door())
    done = set_job(board, 1, "job1", "done")
    desk.scribe().commit(ProposeChange(change=done, proposal_id="prp_board"))
    change = edit_text(paper, 1, "five", f"5 {SCRIPT}")
    scribe.commit(ProposeChange(change=change, rationale=SCRIPT, proposal_id="prp_paper"))
    return desk


@contextmanager
def signed_in(live_server: Any, name: str = "ana") -> Iterator[Page]:
    """A page of this person's; what the console complains about fails the test at the end."""
    with browser.page() as (page, complaints):
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.goto(f"{live_server.url}/admin/login/")
        page.fill("#id_username", name)
        page.fill("#id_password", "not-a-secret")
        page.click("[type=submit]")
        yield page
        # The browser itself logs an answer of 409 or 422, which is what those pages are; and this
        # server speaks no WebSocket, without which every page must work.
        expected = ("status of 4", "WebSocket connection to")
        assert [each for each in complaints if not any(e in each for e in expected)] == []


def test_a_reviewer_works_through_the_queue(live_server: Any, desk: Desk) -> None:
    with signed_in(live_server) as page:
        page.goto(live_server.url + reverse("admin:artifactr_proposal_changelist"))
        expect(page.locator("#result_list tbody tr")).to_have_count(2)
        page.click("#result_list tbody tr:first-child th a")
        expect(page.locator("h2").first).to_contain_text("status")
        page.click("button[value=accept]")
        expect(page.locator(".messagelist .success")).to_contain_text("Accepted:")
        page.click(".messagelist a")
        expect(page.locator(".artifactr-diff")).to_contain_text(SCRIPT)
        page.click("details.artifactr-edit > summary")
        page.fill("textarea[name=text]", TEXT.replace("five", "V"))
        page.fill("textarea[name=reason]", "Roman numerals.")
        page.click("button[value=edit]")
        expect(page.locator(".messagelist .success")).to_contain_text("Accepted with your edits")
        expect(page.locator(".artifactr-side")).to_contain_text("Nothing else is waiting")
    assert desk.door().get(Paper, "art_paper").data.text == TEXT.replace("five", "V")
    assert models.Proposal.objects.filter(status="accepted").count() == 2


def test_the_keyboard_suffices(live_server: Any, desk: Desk) -> None:
    url = live_server.url + desk.page("prp_board")
    with signed_in(live_server) as page:
        page.goto(url)
        page.focus("textarea[name=reason]")
        page.keyboard.type("Not yet.")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.value") == "reject"
        page.keyboard.press("Enter")
        expect(page.locator(".artifactr-note.is-rejected")).to_contain_text("Not yet.")
    assert desk.door().proposal("prp_board").status == "rejected"


def test_what_was_typed_survives_a_change_by_others(live_server: Any, desk: Desk) -> None:
    url = live_server.url + desk.page("prp_paper")
    with signed_in(live_server) as page:
        page.goto(url)
        page.click("text=or edit the result first")
        page.fill("textarea[name=text]", "all mine")
        browser.elsewhere(
            lambda: desk.door().commit(edit_text("art_paper", 1, "one two", "ONE two"))
        )
        page.click("button[value=edit]")
        expect(page.locator("[role=alert]")).to_contain_text("Nothing was decided")
        expect(page.locator("textarea[name=text]")).to_have_value("all mine")
        expect(page.locator(".artifactr-edit .is-warning")).to_contain_text("ONE two three")
        page.click("button[value=edit]")
        expect(page.locator(".messagelist .success")).to_contain_text("version 3")
    assert desk.door().get(Paper, "art_paper").data.text == "all mine"


def test_invalid_json_is_told_at_the_field(live_server: Any, desk: Desk) -> None:
    url = live_server.url + desk.page("prp_board")
    with signed_in(live_server) as page:
        page.goto(url)
        page.click("details.artifactr-edit > summary")
        page.fill("textarea[name=json]", "{oops")
        page.click("button[value=edit]")
        expect(page.locator(".errorlist")).to_contain_text("is not valid JSON at character 1")
        expect(page.locator("textarea[name=json]")).to_have_value("{oops")
    assert desk.door().proposal("prp_board").status == "pending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_runs_nothing_inline(
    live_server: Any, desk: Desk, scheme: Any
) -> None:
    pages = [desk.page("prp_paper"), desk.page("prp_board")]
    for model in (models.Artifact, models.Event, models.ChangeSet):
        name = model._meta.label_lower.replace(".", "_")
        last = model._default_manager.order_by("-pk").first()
        assert last is not None
        pages += [
            reverse(f"admin:{name}_change", args=[last.pk]),
            reverse(f"admin:{name}_changelist"),
        ]
    pages += [
        reverse("admin:artifactr_threads_thread_changelist"),
        reverse("admin:artifactr_thread_by_id", args=[desk.row.public_id, THREAD]),
        reverse("admin:artifactr_proposal_changelist"),
        reverse("admin:index"),
    ]
    with signed_in(live_server, "mia") as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme=scheme)
        for url in pages:
            page.goto(live_server.url + url)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, url
            assert page.evaluate("document.styleSheets.length") > 0
