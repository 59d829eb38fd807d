"""A turn: what it takes, what it records, how it ends, and what comes after it."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from artifacts import clock, core
from artifacts.workspace import Fence, Workspace, open_workspace
from tests.support.cast import ANA, BEN, make_workspace
from tests.support.models import Gate, Script, call, hosting, say
from tests.support.racing import Background, all_of
from tests.threads.conftest import Chat
from tests.threads.dying import after_the_wait
from threads import models, selectors, tasks
from threads.services import endings, leases, turns, watching


def test_it_answers_a_message(chat: Chat) -> None:
    message_id = chat.post("Hello?")
    with hosting(Script(say("Hello, Ana."))):
        chat.run_turn()

    assert chat.said() == ["Hello?", "Hello, Ana."]
    (started,) = chat.events(core.RunStarted)
    assert started.message_ids == (message_id,)
    assert started.trigger == "message"
    (run,) = chat.runs()
    assert (run.id, run.status) == (started.run_id, "completed")
    reply = chat.workspace.read()[-2]
    assert reply.actor == core.AgentActor(thread_id=chat.id, run_id=run.id, on_behalf_of=ANA)
    assert isinstance(reply.event, core.MessagePosted)
    assert reply.event.run_id == run.id
    assert chat.workspace.verify() == []


def test_it_takes_all_messages_of_one_author_oldest_first(chat: Chat) -> None:
    for text, who in [("One", ANA), ("Two", ANA), ("Three", BEN), ("Four", ANA)]:
        chat.post(text, actor=who)
    script = Script(say("to Ana"), say("to Ben"), say("to Ana again"))
    with hosting(script):
        for _ in range(3):
            chat.run_turn()

    assert script.prompts(0) == ["One", "Two"]
    assert script.prompts(1)[2:] == ["Three"]
    assert script.prompts(2)[3:] == ["Four"]
    assert chat.said()[4:] == ["to Ana", "to Ben", "to Ana again"]


def test_a_notice_asks_for_nothing(chat: Chat) -> None:
    chat.post("Lunch at noon", kind="notice")
    with hosting(Script()):
        chat.run_turn()
    assert chat.runs() == []
    assert models.Thread.objects.get(public_id=chat.id).asked_seq == 0


def test_the_agents_own_reply_asks_for_nothing(chat: Chat) -> None:
    chat.post("Hello?")
    with hosting(Script(say("Hello."))):
        chat.run_turn()
        chat.run_turn()
    assert len(chat.runs()) == 1


def test_a_wake_up_without_a_message_leaves(chat: Chat) -> None:
    with hosting(Script()):
        chat.run_turn()
    assert chat.runs() == []


def test_a_second_copy_of_a_wake_up_leaves_while_the_first_still_runs(chat: Chat) -> None:
    chat.post("Take your time")
    gate = Gate(say("Done."))
    with hosting(Script(gate)):
        first = in_thread(chat.run_turn)
        assert gate.reached.wait(60)
        chat.run_turn()  # comes back at once: it met the claim
        assert [run.status for run in chat.runs()] == ["running"]
        gate.opened.set()
        first.join(60)
    assert [run.status for run in chat.runs()] == ["completed"]


def test_a_message_during_a_turn_starts_the_next_one(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        turns.executor, "enqueue", lambda name, *args, **_: asked.append((name, *args))
    )
    chat.post("First")
    gate = Gate(say("First answered."))
    with hosting(Script(gate, say("Second answered."))):
        first = in_thread(chat.run_turn)
        assert gate.reached.wait(60)
        chat.post("Second")
        chat.run_turn()  # its wake-up meets the claim
        asked.clear()
        gate.opened.set()
        first.join(60)
        assert asked == [(turns.RUN_TURN, chat.workspace.id, chat.id)]
        chat.run_turn()
    assert chat.said() == ["First", "Second", "First answered.", "Second answered."]


@pytest.mark.parametrize("claims", [True, False], ids=["with claims", "control: without"])
def test_two_turns_of_a_thread_never_overlap(
    open_chat: Callable[[], Chat], claims: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight workers at once on one thread, with eight messages by two people in turn."""
    if not claims:
        monkeypatch.setattr(Workspace, "acquire_lease", lambda self, *_: Fence("nobody's", 0))
        monkeypatch.setattr(Workspace, "fenced", lambda self, fence: self)
    chat = open_chat()
    for number in range(8):
        chat.post(f"{number}", actor=BEN if number % 2 else ANA)
    inside, most, collisions = 0, 0, []
    lock, together = threading.Lock(), threading.Barrier(8)

    async def step(messages: object) -> object:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        await asyncio.sleep(0.05)
        with lock:
            inside -= 1
        return say("ok")

    def work() -> None:
        together.wait()
        for _ in range(8):
            try:
                chat.run_turn()
            except core.InvalidState as error:
                collisions.append(error)

    with hosting(Script(*[step] * 200)):
        for thread in [in_thread(work) for _ in range(8)]:
            thread.join(60)
        if not claims:
            assert most > 1 or collisions, "nothing raced, so the run with claims proves nothing"
            return
        while selectors.waiting(clock.now(), limit=1):
            chat.run_turn()
    assert (most, collisions) == (1, [])
    taken = [id for each in chat.events(core.RunStarted) for id in each.message_ids]
    assert len(taken) == len(set(taken)) == 8
    assert len(chat.runs()) == 8


def test_the_database_itself_refuses_a_second_running_run(chat: Chat) -> None:
    agent = core.AgentActor(thread_id=chat.id)
    chat.workspace.as_actor(agent).record(core.RunStarted(run_id="run_1", thread_id=chat.id))
    with pytest.raises(core.InvalidState):
        chat.workspace.as_actor(agent).record(core.RunStarted(run_id="run_2", thread_id=chat.id))
    assert [run.id for run in chat.runs()] == ["run_1"]


def test_a_turn_that_lost_its_claim_writes_nothing_more(chat: Chat) -> None:
    chat.post("Hello?")
    gate = Gate(say("Too late."))
    with hosting(Script(gate)):
        first = in_thread(chat.run_turn)
        assert gate.reached.wait(60)
        _take_over(chat)
        gate.opened.set()
        first.join(60)
    assert chat.said() == ["Hello?"]
    assert [run.status for run in chat.runs()] == ["running"]


def test_a_wake_up_that_meets_a_process_about_to_end_goes_to_another(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Any] = []
    chat.post("Hello?")
    monkeypatch.setattr(turns.executor, "enqueue", lambda name, *args, **_: woken.append(args))
    monkeypatch.setattr(watching, "_ends", threading.Event())
    watching.drain()
    with hosting(Script(say("Hello."))):
        chat.run_turn()
        assert chat.said() == ["Hello?"]
        assert woken == [(chat.workspace.id, chat.id)]
        monkeypatch.setattr(watching, "_ends", threading.Event())
        tasks.run_turn(*woken[0])
    assert chat.said() == ["Hello?", "Hello."]


def test_a_wake_up_that_meets_a_busy_database_comes_again(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Any] = []

    def busy(*args: Any) -> None:
        raise core.Unavailable(retry_after=3)

    chat.post("Hello?")
    monkeypatch.setattr(
        turns.executor,
        "enqueue",
        lambda name, *args, delay_seconds=0.0, **_: woken.append((args, delay_seconds)),
    )
    with hosting(Script(say("Hello."))), monkeypatch.context() as patch:
        patch.setattr(leases, "held", busy)
        with pytest.raises(core.Unavailable):
            chat.run_turn()
    assert woken == [((chat.workspace.id, chat.id), 3)]


def test_a_sweep_wakes_what_was_asked_and_not_taken(
    open_chat: Callable[[], Chat], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, answered, quiet = open_chat(), open_chat(), open_chat()
    waiting.post("Anyone?")
    answered.post("Hello?")
    with hosting(Script(say("Hello."))):
        answered.run_turn()
    woken: list[str] = []
    monkeypatch.setattr(turns.executor, "enqueue", lambda *args, **_: woken.append(args[-1]))
    assert turns.sweep() == 1
    assert woken == [waiting.id]
    assert quiet.runs() == []


def test_the_reply_history_and_taken_mark_are_one_transaction_with_the_end(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.post("Hello?")

    def crash(*args: object, **kwargs: object) -> object:
        def write(tx: object) -> None:
            raise RuntimeError("the process dies before COMMIT")

        return write

    with hosting(Script(say("Hello."), say("Hello again."))):
        with monkeypatch.context() as patch:
            patch.setattr(endings, "taking", crash)
            with pytest.raises(RuntimeError):
                chat.run_turn()
        assert chat.said() == ["Hello?"]
        assert models.HistorySegment.objects.count() == 1  # what the model was sent
        assert [run.status for run in chat.runs()] == ["running"]
        with after_the_wait(chat):
            chat.run_turn()

    assert chat.said() == ["Hello?", "Hello again."]
    row = models.Thread.objects.get(public_id=chat.id)
    assert row.taken_seq == row.asked_seq


def test_facts_stand_in_the_log_in_order(chat: Chat) -> None:
    chat.post("What is here?")
    with hosting(Script(call("list_artifacts"), say("Nothing."))):
        chat.run_turn()
    types = [
        each.event.type
        for each in chat.workspace.read()
        if each.event.type not in ("thread_created", "message_posted")
    ]
    assert types == ["run_started", "tool_called", "tool_returned", "run_ended"]
    called, returned = chat.events(core.ToolCalled, core.ToolReturned)
    assert called.tool_call_id == returned.tool_call_id
    assert (returned.status, returned.summary) == ("ok", "There are no artifacts yet.")
    (ended,) = chat.events(core.RunEnded)
    assert ended.usage["requests"] == 2
    assert ended.usage["tool_calls"] == 1


def test_runs_share_no_state(open_chat: Callable[..., Chat]) -> None:
    """One agent object, fifty turns in ten workspaces at once: nobody sees another's words."""
    places = [open_workspace(make_workspace().public_id, actor=ANA) for _ in range(10)]
    chats = [open_chat(place) for place in places for _ in range(5)]
    for chat in chats:
        chat.post(chat.id)

    async def echo(messages: list[Any]) -> object:
        await asyncio.sleep(0.05)
        prompts = [str(part.content) for part in messages[-1].parts]
        return say(" ".join(prompts))

    with hosting(Script(*[echo] * len(chats))):
        all_of([Background(chat.run_turn) for chat in chats])
    for chat in chats:
        (run,) = models.Run.objects.filter(thread__public_id=chat.id)
        assert (run.status, run.reason) == ("completed", None)
        assert chat.said() == [chat.id, f"['{chat.id}']"]


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def _take_over(chat: Chat) -> None:
    """Let the claim lapse and take it, as another process would."""
    with clock.moved(timedelta(hours=1)):
        fence = chat.workspace.acquire_lease(f"thread:{chat.id}", "another process", 7200)
    assert fence is not None
