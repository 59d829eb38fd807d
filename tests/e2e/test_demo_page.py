"""The demo's page in a real Chromium: a person and an agent work on one document and one plan, and
nothing that is typed, said or decided there is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, Route, expect

from artifactr_site.docplan.artifact_types import Plan
from artifacts import core
from artifacts.models import Membership
from tests.e2e.conftest import QUICK, Place, new_place, session_of
from tests.e2e.working import DOC, PLAN, THREAD, Room, is_live, make_room, opened
from tests.support import live
from tests.support.browser import elsewhere
from tests.support.sites import wait_until
from threads.models import Run
from threads.selectors import run_of

# The page speaks the protocol, which both passes test: once is enough.
pytestmark = [pytest.mark.browser, pytest.mark.once]

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3))"
QUESTION = core.DeferredRequest(
    tool_call_id="q1", tool_name="ask_user", kind="question",
    args={"question": "Who hears of it first?", "choices": ["Everybody", "Teams on trial"]},
)  # fmt: skip
APPROVAL = core.DeferredRequest(
    tool_call_id="a1", tool_name="send_mail", kind="approval",
    args={"to": "all-customers", "subject": HOSTILE},
)  # fmt: skip

expect.set_options(timeout=60_000)


@pytest.fixture
def room(place: Place, started: Callable[..., live.Server]) -> Room:
    return make_room(place, started(**QUICK))


def say(page: Page, text: str) -> None:
    page.fill("textarea[name=message]", text)
    page.press("textarea[name=message]", "Enter")


def stored(work: Callable[[], Any], wanted: Any) -> None:
    """Wait until the database says so; the page told the server a moment ago."""
    wait_until(lambda: elsewhere(work) == wanted)


def test_only_members_come_in_and_by_the_shortest_way(room: Room) -> None:
    place = room.place
    stranger = place.person("sam", None)[1]
    assert Client().get("/")["Location"] == "/admin/login/?next=/"
    assert Client().get(f"/w/{place.id}/")["Location"].endswith(f"?next=/w/{place.id}/")
    assert stranger.get(f"/w/{place.id}/").status_code == 404
    assert "member of no workspace" in stranger.get("/").content.decode()
    person, signed_in = place.person("eva", "viewer")
    assert signed_in.get("/")["Location"] == f"/w/{place.id}/"
    other = new_place("Theirs")
    assert signed_in.get(f"/w/{other.id}/").status_code == 404
    Membership.objects.create(workspace=other.row, user=person, role="editor")
    page = signed_in.get("/").content.decode()
    assert f"/w/{place.id}/" in page
    assert f"/w/{other.id}/" in page


def test_a_conversation_with_text_as_it_comes(room: Room) -> None:
    with opened(room) as page:
        say(page, "Add what it **costs**")
        expect(page.locator(".message.is-mine")).to_contain_text("You")
        expect(page.locator(".message strong").last).to_have_text("costs")
        expect(page.locator("textarea[name=message]")).to_have_value("")
        run_id = elsewhere(room.start_run)
        expect(page.locator(".working")).to_be_visible()
        expect(page.locator(".composer button.reject")).to_be_visible()
        elsewhere(lambda: room.produce(run_id, *_text(0, "It **co", "sts** ")))
        expect(page.locator(".live-text")).to_contain_text("sts")
        elsewhere(lambda: _used(room, run_id))
        expect(page.locator(".tool.is-ok summary")).to_contain_text("edit_text")
        elsewhere(lambda: room.produce(run_id, {"type": "part_ended", "part": 0}, close=True))
        elsewhere(lambda: room.end_run(run_id, "It **costs** 4 €."))
        expect(page.locator(".message.by-agent")).to_contain_text("It costs 4 €.")
        expect(page.locator(".live")).to_have_count(0)
        expect(page.locator(".composer button.reject")).to_be_hidden()


def test_a_running_turn_is_stopped_from_the_page(room: Room) -> None:
    run_id = room.start_run()
    with opened(room) as page:
        page.click(".composer button.reject")
        runs = Run.objects.filter(public_id=run_id, stop_requested_at__isnull=False)
        stored(runs.count, 1)


def test_a_proposal_is_read_and_accepted_in_place(room: Room) -> None:
    room.propose_task("Set a price", rationale="Somebody must.")
    with opened(room) as page:
        card = page.locator(".proposal")
        expect(card.locator(".is-added")).to_contain_text("Set a price (to do)")
        expect(card.locator("blockquote")).to_have_text("Somebody must.")
        page.click("button.badge.is-pending")
        assert page.evaluate("document.activeElement.textContent") == "Accept"
        page.keyboard.press("Enter")
        expect(card).to_contain_text("Accepted by you")
        expect(page.locator(".task.is-fresh")).to_contain_text("Set a price")
        expect(page.locator(f"[data-artifact={PLAN}] .byline")).to_contain_text("by you")
    assert room.mine.proposal("prp_task").status == "accepted"
    assert len(room.mine.get(Plan, PLAN).data.tasks) == 2


def test_a_proposal_is_rejected_with_a_reason_and_one_of_another_chat_too(room: Room) -> None:
    room.propose_task("Set a price")
    room.mine.commit(core.CreateThread(thread_id="thr_other", title="Other"))
    with opened(room) as page:
        # The newest chat is open, so this one is from elsewhere.
        card = page.locator(".elsewhere .proposal")
        card.locator("input[name=reason]").fill("Not now")
        card.locator("button.reject").click()
        expect(page.locator(".elsewhere")).to_be_hidden()
        page.click("text=Launch >> nth=0")
        expect(page.locator(".talk .proposal")).to_contain_text("Rejected by you")
        expect(page.locator(".talk .proposal")).to_contain_text("Not now")
    assert room.mine.proposal("prp_task").status == "rejected"


def test_a_group_is_decided_together(room: Room) -> None:
    for number in (1, 2):
        room.propose_task(f"Task {number}", proposal_id=f"prp_{number}", group_id="grp_1")
    with opened(room) as page:
        expect(page.locator(".proposal")).to_have_count(1)
        expect(page.locator(".proposal .is-added")).to_have_count(2)
        page.click(".proposal button.reject")
        expect(page.locator(".proposal")).to_contain_text("Rejected by you")
    assert room.mine.group("grp_1").status == "rejected"


def test_a_decision_on_what_is_no_longer_so_is_refused_and_shown_anew(room: Room) -> None:
    room.propose_task("Set a price")
    with opened(room) as page:
        expect(page.locator(".proposal button.accept")).to_be_visible()
        # The page is kept from hearing of it.
        page.evaluate("void (window.fetch = () => new Promise(() => {}))")
        plan = elsewhere(lambda: room.mine.get(Plan, PLAN))
        change = plan.edit(lambda draft: draft.set_status("t1", "done"))
        elsewhere(lambda: room.mine.commit(change))
        page.click(".proposal button.accept")
        expect(page.locator(".proposal .problem")).not_to_be_empty()
    assert room.mine.proposal("prp_task").status == "pending"


def test_questions_and_approvals_are_answered_in_place(room: Room) -> None:
    run_id = room.pause(QUESTION, APPROVAL)
    with opened(room) as page:
        expect(page.locator("[data-request=q1] h3")).to_have_text("Who hears of it first?")
        shown = page.locator("[data-request=a1] .data")
        expect(shown).to_contain_text("all-customers")
        expect(shown).to_contain_text(HOSTILE)
        page.locator("[data-request=a1] input").fill("Too early")
        page.click("text=Teams on trial")
        expect(page.locator("[data-request=q1]")).to_have_count(0)
        expect(page.locator("[data-request=a1] input")).to_have_value("Too early")
        page.click("button:text-is('Refuse')")
        expect(page.locator(".request")).to_have_count(0)
        expect(page.locator(".lines")).to_contain_text("You refused it: Too early")
    answers = {each.tool_call_id: each for each in _run(run_id).answers}
    assert answers["q1"].answer == "Teams on trial"
    assert (answers["a1"].approved, answers["a1"].answer) == (False, "Too early")


def test_an_answer_in_own_words_and_an_approval(room: Room) -> None:
    run_id = room.pause(QUESTION, APPROVAL)
    with opened(room) as page:
        page.fill("[data-request=q1] input", "Nobody yet")
        page.press("[data-request=q1] input", "Enter")
        expect(page.locator(".lines")).to_contain_text("answered: Nobody yet")
        page.click("button:text-is('Approve')")
        expect(page.locator(".lines")).to_contain_text("You approved it")
    answers = {each.tool_call_id: each for each in _run(run_id).answers}
    assert (answers["q1"].answer, answers["a1"].approved) == ("Nobody yet", True)


def test_the_document_is_edited_in_place(room: Room) -> None:
    with opened(room) as page:
        page.click(f"[data-artifact={DOC}] .byline >> text=Edit")
        page.fill("textarea[name=text]", room_text(page) + "- And how long?\n")
        page.press("textarea[name=text]", "Control+Enter")
        expect(page.locator(".editor")).to_have_count(0)
        expect(page.locator(f"[data-artifact={DOC}] li.is-fresh")).to_have_text("And how long?")
        expect(page.locator(f"[data-artifact={DOC}] header")).to_contain_text("version 2")
        page.click(f"[data-artifact={DOC}] >> text=What changed")
        expect(page.locator(f"[data-artifact={DOC}] .change .is-added")).to_have_count(1)
    assert room.doc().endswith("- Who may use it?\n- And how long?\n")


def test_what_was_typed_survives_somebody_elses_change_and_both_are_kept(room: Room) -> None:
    with opened(room) as page:
        page.click(f"[data-artifact={DOC}] .byline >> text=Edit")
        typed = room_text(page) + "- And how long?\n"
        page.fill("textarea[name=text]", typed)
        elsewhere(lambda: room.write("in March", "in April", by=room.agent()))
        expect(page.locator(".moved")).to_contain_text("assistant changed this to version 2")
        expect(page.locator(".moved .is-added")).to_contain_text("April")
        page.click(".editor button.accept")
        expect(page.locator(".editor .problem")).to_contain_text("What you typed is kept")
        expect(page.locator("textarea[name=text]")).to_have_value(typed)
        page.click("text=Take that into my text")
        page.click(".editor button.accept")
        expect(page.locator(".editor")).to_have_count(0)
    assert "in April" in room.doc()
    assert "And how long?" in room.doc()


def test_where_two_wrote_at_one_place_the_person_chooses(room: Room) -> None:
    with opened(room) as page:
        page.click(f"[data-artifact={DOC}] .byline >> text=Edit")
        page.fill("textarea[name=text]", room_text(page).replace("March", "May"))
        elsewhere(lambda: room.write("in March", "in April"))
        expect(page.locator(".moved")).to_contain_text("version 2")
        expect(page.locator("text=Take that into my text")).to_have_count(0)
        page.click("text=Keep mine instead")
        page.click(".editor button.accept")
        expect(page.locator(".editor")).to_have_count(0)
    assert "in May" in room.doc()


def test_a_plan_is_changed_where_it_stands(room: Room) -> None:
    with opened(room) as page:
        page.fill("input[name=task]", "Print <b>flyers</b>")
        page.press("input[name=task]", "Enter")
        expect(page.locator(".task")).to_have_count(2)
        page.locator(".task select").first.select_option("done")
        expect(page.locator(".task.is-done")).to_contain_text("Announce it")
        page.click("[aria-label='Change the goal']")
        page.fill("input[name=goal]", "Launch in May")
        page.press("input[name=goal]", "Enter")
        expect(page.locator(".goal")).to_contain_text("Launch in May")
        page.click("[aria-label='Remove Announce it']")
        expect(page.locator(".task")).to_have_count(1)
    plan = room.mine.get(Plan, PLAN)
    assert (plan.version, plan.data.goal) == (5, "Launch in May")
    assert [task.title for task in plan.data.tasks.values()] == ["Print <b>flyers</b>"]


def test_a_new_chat_and_the_switch_of_its_mode(room: Room) -> None:
    with opened(room) as page:
        page.fill("textarea[name=message]", "half a thought")
        page.fill("input[name=title]:visible >> nth=0", "Prices")
        page.press("input[name=title]:visible >> nth=0", "Enter")
        expect(page.locator(".chat-title")).to_have_text("Prices")
        expect(page.locator("textarea[name=message]")).to_have_value("")
        page.check("input[name=suggest]")
        expect(page.locator(".lines")).to_contain_text("only suggests changes now")
        elsewhere(lambda: room.agent().commit(core.PostMessage(thread_id=THREAD, content="Hi")))
        expect(page.locator(".threads .badge")).to_have_text("new")
        page.click(".threads a >> text=Launch")
        expect(page.locator(".chat-title")).to_have_text("Launch")
        expect(page.locator("textarea[name=message]")).to_have_value("half a thought")
        expect(page.locator("input[name=suggest]")).not_to_be_checked()
        expect(page.locator(".message")).to_contain_text("Hi")


def test_a_document_is_begun_from_the_page(room: Room) -> None:
    with opened(room) as page:
        page.fill(".new-artifact input", "Pricing")
        page.click(".new-artifact button[value=doc]")
        expect(page.locator(".artifact")).to_have_count(3)
        expect(page.locator(".artifact").last).to_contain_text("Pricing")
    assert len(room.mine.artifacts("doc")) == 2


def test_a_lost_server_loses_nothing(place: Place, tmp_path: Path) -> None:
    with live.serving(tmp_path, **QUICK) as server:
        room = make_room(place, server)
        with opened(room) as page:
            server.kill()
            expect(page.locator("#connection")).to_have_text("Reconnecting…")
            say(page, "Are you there?")
            elsewhere(lambda: room.write("in March", "in April"))
            expect(page.locator("textarea[name=message]")).to_have_value("Are you there?")
            with live.serving(tmp_path, port=server.port, **QUICK):
                page.evaluate("dispatchEvent(new Event('online'))")
                is_live(page)
                expect(page.locator(".message.is-mine")).to_have_count(1)
                expect(page.locator(".is-fresh")).to_contain_text("in April")
                expect(page.locator("textarea[name=message]")).to_have_value("")
    said = [each for each in room.mine.read() if each.event.type == "message_posted"]
    assert len(said) == 1


def test_what_a_lost_server_did_not_answer_is_asked_again(room: Room) -> None:
    room.mine.commit(core.PostMessage(thread_id=THREAD, content="Before"))
    room.place.open_thread("Prices")
    lost: list[str] = []

    def lose_two(route: Route) -> None:
        lost.append(route.request.url)
        route.abort("connectionrefused") if len(lost) < 3 else route.continue_()

    with opened(room) as page:
        expect(page.locator(".chat-title")).to_have_text("Prices")
        page.route("**/events/?*", lose_two)
        page.click("text=Launch")
        expect(page.locator(".message")).to_contain_text("Before")
    assert len(lost) == 3


def test_text_of_others_stays_text(room: Room) -> None:
    room.agent().commit(core.PostMessage(thread_id=THREAD, content=HOSTILE))
    room.write("It ships", HOSTILE)
    room.propose_task(HOSTILE, rationale=HOSTILE)
    room.mine.commit(core.CreateThread(thread_id="thr_x", title=HOSTILE))
    with opened(room) as page:
        page.click(".threads a >> text=Launch")
        expect(page.locator(".message")).to_contain_text("alert(1)")
        expect(page.locator(f"[data-artifact={DOC}]")).to_contain_text("<script>")
        assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
        assert page.evaluate("document.querySelectorAll('a[href^=javascript]').length") == 0


def test_who_may_only_read_is_offered_nothing_else(place: Place, room: Room) -> None:
    room.propose_task("Set a price")
    room.pause(QUESTION, APPROVAL)
    room.session = session_of(place.person("vera", "viewer")[1])
    with opened(room) as page:
        expect(page.locator(".proposal")).to_contain_text("A reviewer decides this.")
        expect(page.locator(".request")).to_have_count(2)
        offered = "main :is(input, select, textarea, button.accept, button.reject)"
        visible = f"[...document.querySelectorAll('{offered}')].filter(e => e.checkVisibility())"
        assert page.evaluate(f"{visible}.length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_every_control_has_a_name(room: Room, width: int, scheme: Any) -> None:
    room.write("Who may use it?", "Who may use it? " + "verylongword" * 30)
    room.propose_task("Set a price")
    room.pause(QUESTION, APPROVAL)
    with opened(room, size={"width": width, "height": 844}, scheme=scheme) as page:
        expect(page.locator(".request")).to_have_count(2)
        for view in ("threads", "work", "chat"):
            if width == 390:
                page.click(f"[data-shows={view}]")
            expect(page.locator(f"#{view}")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
            assert page.evaluate(UNNAMED) == []
        if width == 390:
            assert page.locator("#work").is_hidden()


# Controls that nothing names: neither their text, a label, nor an attribute.
UNNAMED = """[...document.querySelectorAll("main :is(button, input, select, textarea)")]
  .filter((each) => !(each.textContent.trim() || each.labels?.length || each.ariaLabel))
  .map((each) => each.outerHTML)"""


def _text(part: int, *deltas: str) -> list[dict[str, Any]]:
    begun = {"type": "part_started", "part": part, "part_kind": "text"}
    return [begun, *({"type": "text_delta", "part": part, "delta": each} for each in deltas)]


def _used(room: Room, run_id: str) -> None:
    agent = room.agent(run_id)
    of = {"run_id": run_id, "thread_id": THREAD, "tool_call_id": "c1", "tool_name": "edit_text"}
    agent.record(core.ToolCalled(**of, args_summary='{"artifact_id": "art_doc"}'))
    agent.record(core.ToolReturned(**of, status="ok", summary="Done, version 2."))


def _run(run_id: str) -> core.Run:
    return run_of(Run.objects.select_related("thread").get(public_id=run_id))


def room_text(page: Page) -> str:
    text: str = page.input_value("textarea[name=text]")
    return text
