"""Judging an answer on the demo's page: thumbs, a correction, and what a later look shows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from artifacts import core
from artifacts.models import Membership
from tests.e2e.conftest import QUICK, Place
from tests.e2e.working import THREAD, Room, make_room, opened
from tests.support import live
from tests.support.browser import elsewhere
from tests.support.sites import wait_until

# The page speaks the protocol, which both passes test: once is enough.
pytestmark = [pytest.mark.browser, pytest.mark.once]

expect.set_options(timeout=60_000)

UP, DOWN = "[aria-label='Good answer']", "[aria-label='Bad answer']"
HOSTILE = "<img src=x onerror=alert(1)> It is pending."


@pytest.fixture
def room(place: Place, started: Callable[..., live.Server]) -> Room:
    return make_room(place, started(**QUICK))


@pytest.fixture
def answered(room: Room) -> str:
    """A question of the person, and the agent's answer; its run."""
    room.mine.commit(core.PostMessage(thread_id=THREAD, content="Where is my refund?"))
    run_id = room.start_run()
    room.end_run(run_id, "It was paid.")
    return run_id


def given(room: Room) -> list[core.FeedbackGiven]:
    return [each.event for each in room.mine.read() if isinstance(each.event, core.FeedbackGiven)]


def given_so_many(room: Room, number: int) -> None:
    wait_until(lambda: elsewhere(lambda: len(given(room))) == number)


def test_an_answer_is_judged_and_the_last_verdict_is_the_one_that_shows(
    room: Room, answered: str
) -> None:
    with opened(room) as page:
        answer = page.locator(".message.by-agent")
        expect(page.locator(".message.is-mine .verdict")).to_have_count(0)
        answer.locator(DOWN).click()
        expect(answer.locator(DOWN)).to_have_attribute("aria-pressed", "true")
        answer.locator(UP).focus()
        page.keyboard.press("Enter")
        expect(answer.locator(UP)).to_have_attribute("aria-pressed", "true")
        expect(answer.locator(DOWN)).to_have_attribute("aria-pressed", "false")
        given_so_many(room, 2)
        page.reload()
        expect(answer.locator(UP)).to_have_attribute("aria-pressed", "true")
    down, up = given(room)
    assert (down.value["up"], up.value["up"]) == (False, True)
    assert isinstance(up.target, core.MessageTarget)
    assert (up.target.thread_id, up.target.run_id) == (THREAD, answered)


def test_a_correction_is_sent_with_what_should_have_been_said(room: Room, answered: str) -> None:
    with opened(room) as page:
        answer = page.locator(".message.by-agent")
        answer.locator("summary").click()
        answer.locator("[type=submit]").click()  # the browser asks for a text
        answer.locator("textarea").fill(HOSTILE)
        answer.locator("[type=submit]").click()
        expect(answer.locator("[role=status]")).to_have_text("Sent, thank you.")
        expect(answer.locator("textarea")).to_be_hidden()
    (correction,) = given(room)
    assert correction.feedback_type == "correction"
    assert correction.value == {"expected": HOSTILE, "comment": None}


def test_a_viewer_may_judge(room: Room, answered: str) -> None:
    Membership.objects.filter(workspace=room.place.row).update(role="viewer")
    with opened(room) as page:
        page.locator(".message.by-agent").locator(UP).click()
        given_so_many(room, 1)
