"""What agents ask, on the review queue of a real site: it comes, and is marked once answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from artifacts import core, pool
from tests.e2e.conftest import QUICK
from tests.e2e.test_live_desk import NOTE, opened
from tests.support import live
from tests.support.browser import elsewhere
from tests.support.desk import THREAD, Desk, make_desk
from threads.models import Run

pytestmark = pytest.mark.browser


@pytest.fixture
def desk(transactional_db: None) -> Iterator[Desk]:
    yield make_desk()
    pool.close_pool()


@pytest.fixture
def server(desk: Desk, started: Callable[..., live.Server]) -> live.Server:
    return started(**QUICK)


def ask(desk: Desk, run_id: str, *tool_call_ids: str) -> None:
    requests = tuple(
        core.DeferredRequest(
            tool_call_id=each, tool_name="ask_user", kind="question", args={"question": each}
        )
        for each in tool_call_ids
    )
    agent = desk.scribe(run_id=run_id)
    agent.record(core.RunStarted(run_id=run_id, thread_id=THREAD))
    agent.record(core.RunPaused(run_id=run_id, thread_id=THREAD, requests=requests))


def test_the_queue_tells_what_agents_ask_and_what_was_answered(
    server: live.Server, desk: Desk
) -> None:
    queue = reverse("admin:artifactr_proposal_changelist")
    with opened(server, desk, queue) as page:
        elsewhere(lambda: ask(desk, "run_1", "Who?", "When?"))
        expect(page.locator(NOTE)).to_contain_text("2 new questions.", timeout=60_000)
        assert page.title().startswith("(2) ")
        page.click(f"{NOTE} a")
        entries = page.locator(".artifactr-waiting li")
        expect(entries).to_have_count(2, timeout=60_000)
        expect(page.locator(".artifactr-live-state")).to_have_text("Live", timeout=60_000)
        answer = core.AnswerDeferred(run_id="run_1", tool_call_id="Who?", answer="All")
        elsewhere(lambda: desk.door("ana").commit(answer))
        expect(entries.first).to_contain_text("answered just now by Ana", timeout=60_000)
        entries.nth(1).locator("a").click()
        page.fill("textarea[name=answer]", "Tomorrow")
        page.click("button[value=answer]")
        expect(page.locator(".messagelist .success")).to_contain_text("Answered", timeout=60_000)
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    run = Run.objects.get(public_id="run_1")
    assert "Tomorrow" in run.answers
