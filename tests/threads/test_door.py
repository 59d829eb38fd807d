"""The host's door: commands as every surface sends them, and turns to wait for, watch and stop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.test import override_settings

from artifacts import core, executor
from artifacts.core.protocol import TextDelta
from tests.support.cast import BEN
from tests.support.models import Gate, Script, hosting, say
from tests.support.racing import Background
from tests.support.sites import wait_until
from tests.threads.conftest import Chat
from tests.threads.test_pauses import ASK, Mails
from tests.threads.test_stopping import Endless
from threads import services
from threads.agent import turn as turn_module
from threads.services import endings

SECONDS = 120


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Turns are taken by threads of this process, as in the embedded default."""
    schedule, current_app.conf.beat_schedule = current_app.conf.beat_schedule, {}
    local = executor.LocalExecutor()
    monkeypatch.setattr(executor, "_local", local)
    with override_settings(ARTIFACTR={**settings.ARTIFACTR, "EXECUTOR": "threads"}):
        yield
        assert local.stop(60)
    current_app.conf.beat_schedule = schedule


def test_sending_gives_a_handle_to_wait_for(chat: Chat, worker: None) -> None:
    with hosting(Script(say("Hello, Ana."))):
        answer = services.send(chat.workspace, chat.id, "Hello?").wait(SECONDS)
    (run,) = chat.runs()
    assert answer == services.Answer(run.id, "completed", "Hello, Ana.")


async def sent_and_awaited(chat: Chat) -> services.Answer:
    handle = await services.asend(chat.workspace, chat.id, "Hello?")
    return await handle.await_answer(SECONDS)


def test_a_coroutine_awaits_it(chat: Chat, worker: None) -> None:
    with hosting(Script(say("Hello, Ana."))):
        answer = Background(lambda: asyncio.run(sent_and_awaited(chat))).result()
    assert answer.reply == "Hello, Ana."


def test_a_message_that_steered_is_answered_by_the_run_it_steered(chat: Chat, worker: None) -> None:
    gate = Gate(say("Both answered."))
    with hosting(Script(gate, say("never"))):
        first = services.send(chat.workspace, chat.id, "One")
        assert gate.reached.wait(60)
        second = services.send(chat.workspace.as_actor(BEN), chat.id, "Two")
        gate.opened.set()
        assert first.wait(SECONDS).reply == "Both answered."
        # It came too late for a request, so a turn of its own took it.
        assert second.wait(SECONDS).reply == "never"
    assert len(chat.runs()) == 2


def test_nobody_there_is_told_in_time(chat: Chat) -> None:
    with pytest.raises(TimeoutError, match=r"0\.2"):
        services.send(chat.workspace, chat.id, "Hello?").wait(0.2)


def test_a_failed_turn_gives_its_reason(chat: Chat, worker: None) -> None:
    async def breaks(messages: object) -> Any:
        raise RuntimeError("on purpose")

    with hosting(Script(breaks)):
        answer = services.send(chat.workspace, chat.id, "Hello?").wait(SECONDS)
    assert (answer.status, answer.reason, answer.reply) == ("failed", "internal_error", None)
    assert answer.error


def test_a_pause_is_an_answer_too_and_goes_on_when_answered(chat: Chat, worker: None) -> None:
    with hosting(Mails().hosted_with(Script(ASK, say("Blue it is.")))):
        paused = services.send(chat.workspace, chat.id, "Paint it").wait(SECONDS)
        (request,) = paused.requests
        assert (paused.status, request.tool_name) == ("paused", "ask_user")
        with pytest.raises(core.InvalidState):
            services.resume(chat.workspace, paused.run_id)
        answer = core.AnswerDeferred(
            run_id=paused.run_id, tool_call_id=request.tool_call_id, answer="blue"
        )
        seq = services.execute(chat.workspace, answer).seq
        assert seq is not None
        after = services.Handle(chat.workspace, chat.id, seq, run_id=paused.run_id)
        assert after.wait(SECONDS).reply == "Blue it is."


def test_resuming_by_hand_is_one_wake_up_more(chat: Chat) -> None:
    with hosting(Mails().hosted_with(Script(ASK, say("Blue it is.")))):
        chat.post("Paint it")
        chat.run_turn()
        (run,) = chat.runs()
        chat.workspace.commit(
            core.AnswerDeferred(
                run_id=run.id, tool_call_id=run.pending[0].tool_call_id, answer="blue"
            )
        )
        handle = services.resume(chat.workspace, run.id)
        chat.run_turn()
        assert handle.wait(SECONDS).status == "completed"


def test_a_command_is_carried_out_once_under_its_id(chat: Chat, worker: None) -> None:
    endless = Endless()
    with hosting(Script(endless)):
        handle = services.send(chat.workspace, chat.id, "Take your time")
        assert endless.reached.wait(60)
        (run,) = chat.runs()
        first = services.stop(chat.workspace, run.id, command_id="stop-1")
        assert handle.wait(SECONDS).status == "stopped"
        assert services.stop(chat.workspace, run.id, command_id="stop-1") == first
    create = core.CreateArtifact(kind="paper", data={})
    once = services.execute(chat.workspace, create, command_id="c-1")
    assert services.execute(chat.workspace, create, command_id="c-1") == once


def test_a_run_is_watched_until_it_ends(chat: Chat, worker: None) -> None:
    gate = Gate(say("one two three"))

    async def watched(run_id: str) -> list[Any]:
        return [event async for event in services.watch(chat.workspace, run_id)]

    with hosting(Script(gate)):
        handle = services.send(chat.workspace, chat.id, "Count")
        assert gate.reached.wait(60)
        watching = Background(lambda: asyncio.run(watched(chat.runs()[0].id)))
        gate.opened.set()
        assert handle.wait(SECONDS).status == "completed"
        events = watching.result()
    text = "".join(each.delta for each in events if isinstance(each, TextDelta))
    assert text == "one two three"
    assert events[-1].type == "part_ended"


# What a host puts around turns

seen: list[Any] = []


@contextmanager
def context(session: Any) -> Iterator[None]:
    seen.append(("enter", session.run_id, session.app))
    yield
    seen.append(("exit", session.run_id))


def ended(turn: endings.Ended) -> None:
    seen.append(("ended", turn.run_id, turn.status, turn.reply))


def fails(*args: object) -> Any:
    raise RuntimeError("the host's own mistake")


@contextmanager
def fails_at_the_end(session: Any) -> Iterator[None]:
    yield
    raise RuntimeError("the host's own mistake")


def here(name: str) -> str:
    return f"{__name__}.{name}"


def test_the_hosts_context_is_around_each_turn_and_is_told_how_it_ended(chat: Chat) -> None:
    seen.clear()
    chat.post("Hello?")
    ours = {"TURN_CONTEXT": here("context"), "TURN_ENDED": [here("ended")]}
    with hosting(Script(say("Hello.")), app="theirs", **ours):
        chat.run_turn()
    (run,) = chat.runs()
    assert seen == [
        ("enter", run.id, "theirs"),
        ("exit", run.id),
        ("ended", run.id, "completed", "Hello."),
    ]


def test_a_pause_is_told_too(chat: Chat) -> None:
    seen.clear()
    chat.post("Paint it")
    with hosting(Mails().hosted_with(Script(ASK)), TURN_ENDED=[here("ended")]):
        chat.run_turn()
    assert seen == [("ended", chat.runs()[0].id, "paused", None)]


def test_a_context_that_fails_ends_the_turn_with_a_reason(chat: Chat) -> None:
    chat.post("Hello?")
    with hosting(Script(), TURN_CONTEXT=here("fails")):
        chat.run_turn()
    assert chat.events(core.RunEnded)[0].reason == "internal_error"


def test_what_fails_after_the_turn_undoes_nothing(chat: Chat) -> None:
    seen.clear()
    chat.post("Hello?")
    with hosting(
        Script(say("Hello.")),
        TURN_CONTEXT=here("fails_at_the_end"),
        TURN_ENDED=[here("fails"), here("ended")],
    ):
        chat.run_turn()
    assert chat.said() == ["Hello?", "Hello."]
    assert [each[0] for each in seen] == ["ended"]


def test_a_second_copy_of_a_wake_up_meets_the_claim(chat: Chat, worker: None) -> None:
    """As a broker delivers a message again while its turn still goes on."""
    gate = Gate(say("Once."))
    with hosting(Script(gate)):
        handle = services.send(chat.workspace, chat.id, "Hello?")
        assert gate.reached.wait(60)
        copies = [Background(turn_module.take_turn, chat.workspace.id, chat.id) for _ in range(3)]
        for copy in copies:
            copy.result()
        gate.opened.set()
        assert handle.wait(SECONDS).reply == "Once."
    wait_until(lambda: not any(each.name == "turns" for each in threading.enumerate()))
    assert len(chat.runs()) == 1
