"""The admin's pages on a real site while others work: they say what has happened without being
loaded again, and keep what a person has typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, WebSocketRoute, expect

from artifacts import pool
from artifacts.core import ProposeChange, RespondToProposal
from tests.e2e.conftest import QUICK, session_of
from tests.support import browser, live
from tests.support.browser import elsewhere
from tests.support.builders import edit_text, make_artifact
from tests.support.desk import Desk, make_desk
from tests.support.kinds import Paper

pytestmark = pytest.mark.browser

TEXT = "# Plan\n\none two three\nfour five six\n"
STATE = ".artifactr-live-state"
NOTE = "#artifactr-live .artifactr-note"


@pytest.fixture
def desk(transactional_db: None) -> Iterator[Desk]:
    """A paper, and the agent's proposal on it."""
    desk = make_desk()
    make_artifact(desk.door(), Paper(text=TEXT), artifact_id="art_paper")
    propose(desk, "prp_first", "five", "5")
    yield desk
    pool.close_pool()


@pytest.fixture
def server(desk: Desk, started: Callable[..., live.Server]) -> live.Server:
    return started(**QUICK)


def propose(desk: Desk, proposal_id: str, old: str, new: str) -> None:
    change = edit_text("art_paper", 1, old, new)
    desk.scribe().commit(ProposeChange(change=change, proposal_id=proposal_id))


def respond(desk: Desk, name: str, proposal_id: str, decision: Any) -> None:
    desk.door(name).commit(RespondToProposal(proposal_id=proposal_id, decision=decision))


@contextmanager
def opened(server: live.Server, desk: Desk, path: str, name: str = "ana") -> Iterator[Page]:
    """A page of this person's, once it is live; its own mistakes fail the test."""
    session = session_of(desk.client(name))
    with browser.page() as (page, complaints):
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.goto(server.url + path)
        expect(page.locator(STATE)).to_have_text("Live")
        yield page
        assert complaints == []


def queue() -> str:
    return reverse("admin:artifactr_proposal_changelist")


def test_the_queue_tells_what_is_new_and_what_was_just_decided(
    server: live.Server, desk: Desk
) -> None:
    with opened(server, desk, queue()) as page:
        note = page.locator(NOTE)
        expect(note).to_have_count(0)
        elsewhere(lambda: propose(desk, "prp_second", "one", "1"))
        expect(note).to_contain_text("1 new proposal.")
        elsewhere(lambda: propose(desk, "prp_third", "two", "2"))
        expect(note).to_contain_text("2 new proposals.")
        expect(page).to_have_title("(2) Review queue | artifactr")
        elsewhere(lambda: respond(desk, "mia", "prp_first", "reject"))
        row = page.locator("#result_list tbody tr")
        expect(row).to_contain_text("rejected")
        expect(row).to_contain_text("just now by Mia")
        expect(note).to_contain_text("2 new proposals. 1 on this page just decided.")
        # What came and went meanwhile is no longer new.
        elsewhere(lambda: respond(desk, "mia", "prp_third", "reject"))
        expect(note).to_contain_text("1 new proposal.")
        note.get_by_role("link").click()
        expect(page.locator("#result_list tbody tr")).to_have_count(3)
        expect(page.locator(STATE)).to_have_text("Live")
        expect(note).to_have_count(0)


def test_what_happens_while_a_page_is_on_its_way_is_told_too(
    server: live.Server, desk: Desk
) -> None:
    done: list[None] = []

    def late(route: Any) -> None:
        """The page was made; somebody decides before its script runs."""
        if not done:
            done.append(elsewhere(lambda: respond(desk, "mia", "prp_first", "accept")))
        route.continue_()

    session = session_of(desk.client("ana"))
    with browser.page() as (page, _):
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        page.route("**/artifactr.js", late)
        page.goto(server.url + queue())
        expect(page.locator("#result_list tbody tr")).to_contain_text("just now by Mia")
    assert done


def test_a_stranger_s_queue_hears_nothing_and_who_signed_out_is_told(
    server: live.Server, desk: Desk
) -> None:
    with opened(server, desk, queue(), "otto") as page:
        elsewhere(lambda: propose(desk, "prp_second", "one", "1"))
        page.wait_for_timeout(500)
        expect(page.locator(NOTE)).to_have_count(0)
        elsewhere(desk.client("otto").logout)
        expect(page.locator(STATE)).to_have_text("Not live: not signed in")


def test_a_site_without_sockets_is_asked_a_few_times_and_says_nothing(
    server: live.Server, desk: Desk
) -> None:
    tries: list[str] = []

    def refuse(socket: WebSocketRoute) -> None:
        tries.append(socket.url)
        socket.close(code=1011)

    session = session_of(desk.client("ana"))
    with browser.page() as (page, _):
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        page.add_init_script("Math.random = () => 0")
        page.route_web_socket("**/stream", refuse)
        page.goto(server.url + queue())
        for _ in range(200):
            if len(tries) == 5:
                break
            page.wait_for_timeout(20)
        page.wait_for_timeout(300)
        assert len(tries) == 5
        expect(page.locator(STATE)).to_have_text("")
        expect(page.locator("#result_list tbody tr")).to_have_count(1)


def test_a_decision_page_warns_when_the_artifact_changed_and_keeps_what_was_typed(
    server: live.Server, desk: Desk
) -> None:
    with opened(server, desk, desk.page("prp_first")) as page:
        page.click("details.artifactr-edit > summary")
        page.fill("textarea[name=text]", TEXT.replace("five", "V"))
        page.fill("textarea[name=reason]", "Roman numerals.")
        change = edit_text("art_paper", 1, "one two", "ONE two")
        elsewhere(lambda: desk.door("ben").commit(change))
        alert = page.locator("#artifactr-live [role=alert]")
        expect(alert).to_contain_text(
            "Ben has changed this artifact meanwhile: it is at version 2 now. "
            "This page shows version 1."
        )
        expect(page.locator("textarea[name=reason]")).to_have_value("Roman numerals.")
        alert.get_by_role("button").click()
        expect(page.locator("[role=status].artifactr-note")).to_contain_text("how it stands now")
        expect(page.locator(NOTE)).to_have_count(0)
        expect(page.locator(".artifactr-diff").first).to_contain_text("ONE two three")
        expect(page.locator("textarea[name=reason]")).to_have_value("Roman numerals.")
        expect(page.locator("textarea[name=text]")).to_have_value(TEXT.replace("five", "V"))
        expect(page.locator(".artifactr-edit .is-warning")).to_contain_text("ONE two three")
    assert desk.door().proposal("prp_first").status == "pending"


def test_a_decision_page_says_at_once_that_somebody_else_decided(
    server: live.Server, desk: Desk
) -> None:
    with opened(server, desk, desk.page("prp_first")) as page:
        page.fill("textarea[name=reason]", "I would not.")
        elsewhere(lambda: respond(desk, "mia", "prp_first", "accept"))
        alert = page.locator("#artifactr-live [role=alert]")
        expect(alert).to_contain_text("Mia has just accepted this proposal.")
        expect(alert).not_to_contain_text("version")
        expect(page.locator("button[value=accept]")).to_be_disabled()
        expect(page.locator("button[value=reject]")).to_be_disabled()
        expect(page.locator("textarea[name=reason]")).to_have_value("I would not.")
        alert.get_by_role("button").click()
        expect(page.locator(".artifactr-note.is-accepted")).to_contain_text("Accepted by Mia")
        expect(page.locator("details.artifactr-note pre")).to_have_text("I would not.")


def test_an_own_decision_is_no_news(server: live.Server, desk: Desk) -> None:
    said: list[str] = []

    def heard(text: str) -> None:
        said.append(text)

    with opened(server, desk, desk.page("prp_first")) as page:
        page.expose_function("heard", heard)
        page.evaluate("""() => {
          const notice = document.querySelector("#artifactr-live [role=alert]");
          new MutationObserver(() => heard(notice.textContent)).observe(notice, {childList: true});
        }""")
        page.click("button[value=accept]")
        expect(page.locator(".messagelist .success")).to_contain_text("Accepted")
    assert said == []


def test_the_log_says_that_it_goes_on_and_follows_when_asked(
    server: live.Server, desk: Desk
) -> None:
    with opened(server, desk, reverse("admin:artifactr_event_changelist")) as page:
        rows = page.locator("#result_list tbody tr")
        before = rows.count()
        elsewhere(lambda: propose(desk, "prp_second", "one", "1"))
        expect(page.locator(NOTE)).to_contain_text("1 new event.")
        expect(rows).to_have_count(before)
        follow = page.get_by_role("button", name="Follow")
        follow.click()
        expect(follow).to_have_attribute("aria-pressed", "true")
        expect(rows).to_have_count(before + 1)
        expect(page.locator(NOTE)).to_have_count(0)
        elsewhere(lambda: respond(desk, "mia", "prp_second", "reject"))
        expect(rows).to_have_count(before + 2)
        expect(rows.first).to_contain_text("proposal_resolved")
        expect(rows.first).to_have_class("artifactr-new")
