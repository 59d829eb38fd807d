"""Paused and running runs at the desk: answered, approved and stopped by who may, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings
from django.urls import reverse

from artifacts import access, core
from artifacts.core import Hidden
from tests.support.builders import make_run
from tests.support.desk import THREAD, Desk, make_desk
from threads.models import Run, Thread
from threads.selectors import run_of

HOSTILE = "<script>alert(1)</script>"
REQUESTS = (
    core.DeferredRequest(
        tool_call_id="q1", tool_name="ask_user", kind="question",
        args={"question": f"Who? {HOSTILE}", "choices": ["All", "Some"]},
    ),
    core.DeferredRequest(
        tool_call_id="a1", tool_name="send_mail", kind="approval", args={"to": HOSTILE},
        metadata={"outside": f"partner {HOSTILE}"},
    ),
)  # fmt: skip


@pytest.fixture
def desk(transactional_db: None) -> Iterator[Desk]:
    desk = make_desk()
    run_id = make_run(desk.scribe(), THREAD)
    desk.scribe(run_id=run_id).record(
        core.RunPaused(run_id=run_id, thread_id=THREAD, requests=REQUESTS)
    )
    access.forget_hidden()
    yield desk
    access.forget_hidden()


def row() -> Run:
    return Run.objects.select_related("thread").get()


def page() -> str:
    return reverse("admin:artifactr_threads_run_change", args=[row().pk])


def answer(desk: Desk, name: str, tool_call_id: str, **typed: str) -> Any:
    """Send what a form of the page would."""
    url = reverse("admin:artifactr_run_answer", args=[row().pk])
    return desk.client(name).post(url, {"tool_call_id": tool_call_id, **typed}, follow=True)


def stop(desk: Desk, name: str, **typed: str) -> Any:
    url = reverse("admin:artifactr_run_stop", args=[row().pk])
    return desk.client(name).post(url, typed, follow=True)


def answers() -> dict[str, core.Answer]:
    return {each.tool_call_id: each for each in run_of(row()).answers}


def test_a_question_is_answered_by_a_choice_or_in_own_words(desk: Desk) -> None:
    text = desk.client("ben").get(page()).content.decode()
    assert "Who? &lt;script&gt;" in text
    assert HOSTILE not in text
    assert 'name="choice" value="Some"' in text
    done = answer(desk, "ben", "q1", choice="Some", answer="ignored")
    assert "Answered (seq" in done.content.decode()
    assert answers()["q1"].answer == "Some"
    assert "Answered: Some" in desk.client("ben").get(page()).content.decode()


def test_own_words_keep_their_lines(desk: Desk) -> None:
    answer(desk, "ben", "q1", decision="answer", answer="Two\r\nlines")
    assert answers()["q1"].answer == "Two\nlines"


def test_a_tool_is_approved_or_refused_with_a_reason_by_a_reviewer(desk: Desk) -> None:
    shown = desk.client("ben").get(page()).content.decode()
    assert "Approving needs the role of a reviewer" in shown
    assert "partner &lt;script&gt;" in shown  # what the tool says about it
    assert HOSTILE not in shown
    assert 'value="approve"' not in shown
    assert answer(desk, "ben", "a1", decision="approve").status_code == 403
    assert 'value="approve"' in desk.client("ana").get(page()).content.decode()
    answer(desk, "ana", "a1", decision="refuse", answer="Too early")
    assert (answers()["a1"].approved, answers()["a1"].answer) == (False, "Too early")


def test_approving_sends_no_reason(desk: Desk) -> None:
    answer(desk, "ana", "a1", decision="approve")
    assert (answers()["a1"].approved, answers()["a1"].answer) == (True, None)


def test_what_was_typed_survives_a_refusal(desk: Desk) -> None:
    empty = answer(desk, "ben", "q1", decision="answer", answer=" ")
    assert empty.status_code == 422
    assert "Write an answer" in empty.content.decode()
    undecided = answer(desk, "ana", "a1", answer="my reason")
    assert undecided.status_code == 422
    assert "my reason" in undecided.content.decode()
    long = answer(desk, "ben", "q1", answer="x\0y")
    assert long.status_code == 422
    assert answers() == {}


def test_a_second_answer_comes_too_late_and_the_same_click_counts_once(desk: Desk) -> None:
    answer(desk, "ben", "q1", choice="All", command_id="cmd_1")
    again = answer(desk, "ben", "q1", choice="All", command_id="cmd_1")
    assert "Answered (seq" in again.content.decode()
    late = answer(desk, "ana", "q1", choice="Some")
    assert late.status_code == 409
    assert "already answered" in late.content.decode()
    assert answers()["q1"].answer == "All"
    assert answer(desk, "ana", "nothing", choice="Some").status_code == 409


def test_the_thread_page_answers_and_stops_too(desk: Desk) -> None:
    thread = Thread.objects.get(public_id=THREAD)
    url = reverse("admin:artifactr_threads_thread_change", args=[thread.pk])
    text = desk.client("ana").get(url).content.decode()
    assert reverse("admin:artifactr_run_answer", args=[row().pk]) in text
    assert reverse("admin:artifactr_run_stop", args=[row().pk]) in text


def test_a_run_is_stopped_by_whose_it_is_and_by_reviewers(desk: Desk) -> None:
    assert stop(desk, "vera").status_code == 403
    # Mia's role suffices for every run, Ben's for the one that answers him.
    assert "asked to stop" in stop(desk, "ben").content.decode()
    first = row().stop_requested_at
    assert first is not None
    assert "asked to stop" in stop(desk, "mia").content.decode()
    assert row().stop_requested_at == first


def test_a_run_that_ended_is_not_stopped(desk: Desk) -> None:
    run = row()
    desk.scribe(run_id=run.public_id).record(
        core.RunEnded(run_id=run.public_id, thread_id=THREAD, status="stopped")
    )
    assert "Stop this run" not in desk.client("ana").get(page()).content.decode()
    late = stop(desk, "ana")
    assert late.status_code == 409
    assert "has ended already" in late.content.decode()


def test_readers_and_strangers_send_nothing(desk: Desk) -> None:
    seen = desk.client("vera").get(page()).content.decode()
    assert "Answering needs the role of an editor" in seen
    assert "Stop this run" not in seen
    assert answer(desk, "vera", "q1", choice="All").status_code == 403
    assert answer(desk, "root", "q1", choice="All").status_code == 403
    for name in ("otto", "nora"):
        assert answer(desk, name, "q1", choice="All").status_code in (403, 404)
        assert stop(desk, name).status_code in (403, 404)
    assert desk.client("ana").get(page() + "../answer/").status_code in (404, 405)
    assert answers() == {}
    assert row().stop_requested_at is None


def test_the_queue_lists_what_agents_ask(desk: Desk) -> None:
    queue = reverse("admin:artifactr_proposal_changelist")
    text = desk.client("ana").get(queue).content.decode()
    assert "Agents wait for 2 answers" in text
    assert page() in text
    assert "use send_mail" in text
    assert HOSTILE not in text
    answer(desk, "ana", "q1", choice="All")
    assert "Agents wait for 1 answer<" in desk.client("ana").get(queue).content.decode()
    assert "Agents wait" not in desk.client("otto").get(queue).content.decode()
    elsewhere = f"{queue}?workspace={desk.elsewhere.public_id}"
    assert "Agents wait" not in desk.client("root").get(elsewhere).content.decode()


def test_a_hidden_thread_asks_nothing(desk: Desk) -> None:
    queue = reverse("admin:artifactr_proposal_changelist")
    with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hide_thread"}):
        access.forget_hidden()
        assert "Agents wait" not in desk.client("ana").get(queue).content.decode()
        assert answer(desk, "ana", "q1", choice="All").status_code == 404


def hide_thread(actor: core.Actor, workspace: Any) -> Hidden:
    return Hidden(threads=frozenset({THREAD}), artifacts=frozenset())


def test_the_queue_asks_the_database_as_often_for_many(
    desk: Desk, django_assert_max_num_queries: Any
) -> None:
    queue = reverse("admin:artifactr_proposal_changelist")
    client = desk.client("ana")
    client.get(queue)
    with django_assert_max_num_queries(60) as one:
        client.get(queue)
    for number in range(3):
        thread_id, run_id = f"thr_{number}", f"run_{number}"
        desk.door().commit(core.CreateThread(thread_id=thread_id, title="More"))
        agent = desk.door().as_actor(core.AgentActor(thread_id=thread_id, run_id=run_id))
        agent.record(core.RunStarted(run_id=run_id, thread_id=thread_id))
        agent.record(core.RunPaused(run_id=run_id, thread_id=thread_id, requests=REQUESTS))
    with django_assert_max_num_queries(len(one)):
        assert "Agents wait for 8 answers" in client.get(queue).content.decode()
