"""A turn whose process died is taken again: from what is stored, told what was done, bounded."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart

from artifacts import clock, core
from artifacts.pool import in_pool
from tests.support.cast import ANA, BEN
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from tests.threads.dying import Killed, after_the_wait, die_at_once, dies, killed
from threads import models
from threads.agent import history
from threads.services import turns


def returns(messages: list[ModelMessage]) -> dict[str, str]:
    """What each tool call of a request was answered."""
    return {
        part.tool_call_id: str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }


def test_what_a_dead_process_left_is_recorded_and_taken_again(chat: Chat) -> None:
    message_id = chat.post("Hello?")
    die_at_once(chat)
    with hosting(Script(say("Here I am."))), after_the_wait(chat):
        chat.run_turn()
    first, second = models.Run.objects.order_by("pk")
    assert (first.status, first.reason) == ("failed", "abandoned")
    assert (second.status, second.retry_of) == ("completed", first.public_id)
    assert [each.message_ids for each in chat.events(core.RunStarted)] == [(message_id,)] * 2
    (ended, _) = chat.events(core.RunEnded)
    assert ended.error.startswith("The process that ran this turn stopped")
    assert chat.said() == ["Hello?", "Here I am."]
    assert chat.workspace.verify() == []


def test_the_next_attempt_waits_longer_each_time(chat: Chat) -> None:
    chat.post("Hello?")
    for tries, wait in enumerate([5, 30]):
        die_at_once(chat)
        with hosting(Script()):
            chat.run_turn()  # records it
            chat.run_turn()  # and leaves
        row = models.Thread.objects.get(public_id=chat.id)
        assert row.tries == tries + 1
        assert row.not_before is not None
        assert timedelta() < row.not_before - clock.now() <= timedelta(seconds=wait)
        assert turns.sweep() == 0
        clock.move(timedelta(seconds=wait))
        assert turns.sweep() == 1
    with hosting(Script(say("At last."))):
        chat.run_turn()
    assert chat.said() == ["Hello?", "At last."]
    row.refresh_from_db()
    assert (row.tries, row.not_before) == (0, None)


@pytest.fixture(autouse=True)
def _clock_as_it_was() -> Any:
    before = clock.shift()
    yield
    clock.move(before - clock.shift())


def test_the_wake_up_comes_when_the_wait_is_over(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []
    monkeypatch.setattr(
        turns.executor, "enqueue", lambda *_, delay_seconds=0, **__: delays.append(delay_seconds)
    )
    chat.post("Hello?")
    die_at_once(chat)
    delays.clear()
    with hosting(Script()):
        chat.run_turn()
    (delay,) = delays
    assert 0 < delay <= 5


def test_a_message_that_kills_every_process_is_given_up(chat: Chat) -> None:
    chat.post("Poison")
    with hosting(Script(killed, killed, killed, say("Alive."))):
        dies(chat)
        for _ in range(2):
            chat.run_turn()
            clock.move(timedelta(minutes=3))
            dies(chat)
        chat.run_turn()
        last = models.Run.objects.latest("pk")
        assert (last.status, last.reason) == ("failed", "poison")
        assert chat.events(core.RunEnded)[-1].error.endswith("it is given up.")
        assert turns.sweep() == 0

        chat.post("And now?")
        chat.run_turn()
    assert chat.said() == ["Poison", "And now?", "Alive."]
    assert len(chat.events(core.RunStarted)) == 4


def test_others_go_on_while_a_poisoned_turn_is_tried(open_chat: Callable[[], Chat]) -> None:
    ill, well = open_chat(), open_chat()
    ill.post("Poison")
    well.post("Hello?")
    with hosting(Script(killed, say("Fine."))):
        dies(ill)
        well.run_turn()
    assert well.said() == ["Hello?", "Fine."]


def test_it_goes_on_from_what_is_stored_and_is_told_what_was_done(chat: Chat) -> None:
    chat.post("Write a paper")
    create = call("create_artifact", kind="paper", data={"text": "Once."})
    script = Script(create, killed, say("It is there."))
    with hosting(script):
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
    (created,) = chat.events(core.ArtifactCreated)
    again = script.requests[-1]
    kinds = [part.part_kind for message in again for part in message.parts]
    assert kinds == ["user-prompt", "tool-call", "tool-return", "user-prompt"]
    first, retold = script.prompts(-1)
    assert first == "Write a paper"  # once, not again
    assert f"- created {created.artifact_id} (paper, v1)" in retold
    assert "- called create_artifact: ok" in retold
    assert chat.said() == ["Write a paper", "It is there."]


def test_a_prompt_that_was_not_stored_is_told_again(chat: Chat) -> None:
    chat.post("Hello?")
    die_at_once(chat)
    script = Script(say("Hello."))
    with hosting(script), after_the_wait(chat):
        chat.run_turn()
    retold, asked = script.prompts(0)
    assert retold.endswith("you did:\n- nothing")
    assert asked == "Hello?"


def test_a_tool_that_never_came_back_is_in_doubt_and_not_run_again(chat: Chat) -> None:
    ran: list[str] = []

    def send_mail(ctx: RunContext[Any], to: str) -> str:
        ran.append(to)
        raise Killed

    chat.post("Send it")
    calls = ModelResponse(
        parts=[
            ToolCallPart("list_artifacts", {}, "c1"),
            ToolCallPart("send_mail", {"to": "ben"}, "c2"),
            ToolCallPart("send_mail", {"to": "vera"}, "c3"),
        ]
    )
    script = Script(calls, say("I do not know whether Ben got it."))
    with hosting(agent_with(script.model, tools=[send_mail])):
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
            # Stored, so that the turns after it are told the same.
            chat.post("And?")
            script.steps.append(say("Still."))
            chat.run_turn()
    assert ran == ["ben"]
    answers = returns(script.requests[-1])
    assert answers["c1"] == "There are no artifacts yet."
    assert answers["c2"] == history.IN_DOUBT
    assert answers["c3"] == history.NOT_EXECUTED
    assert returns(script.requests[1]) == answers
    assert "- called send_mail, which did not come back" in script.prompts(1)[-1]


def test_a_steered_message_that_the_dead_attempt_stored_is_told_and_taken_once(chat: Chat) -> None:
    chat.post("Begin")

    async def steered(messages: list[ModelMessage]) -> ModelResponse:
        await in_pool(partial(chat.post, "Faster!", actor=BEN))
        return call("list_artifacts")

    script = Script(steered, killed, say("Done."))
    with hosting(script):
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
            chat.run_turn()
    prompts = script.prompts(-1)
    assert [prompts.count(each) for each in ("Begin", "Faster!")] == [1, 1]
    assert len(chat.runs()) == 2
    row = models.Thread.objects.get(public_id=chat.id)
    assert row.taken_seq == row.asked_seq


def test_what_was_said_during_the_wait_steers_the_next_attempt(chat: Chat) -> None:
    chat.post("Begin")
    script = Script(killed, say("Done."))
    with hosting(script):
        dies(chat)
        chat.run_turn()
        chat.post("Are you there?", actor=BEN)
        clock.move(timedelta(minutes=1))
        chat.run_turn()
        chat.run_turn()
    assert script.prompts(-1)[-2:] == ["Ben wrote meanwhile:", "Are you there?"]
    assert len(chat.runs()) == 2
    second = chat.workspace.read()[-1]
    assert second.actor.on_behalf_of == ANA  # type: ignore[union-attr]


def test_a_turn_that_the_model_failed_is_not_tried_again(chat: Chat) -> None:
    chat.post("Hello?")

    async def breaks(messages: list[ModelMessage]) -> ModelResponse:
        raise RuntimeError("on purpose")

    with hosting(Script(breaks)):
        chat.run_turn()
        chat.run_turn()
    (run,) = chat.runs()
    assert run.status == "failed"


def test_changes_are_told_once_though_an_attempt_died_between(chat: Chat) -> None:
    paper = core.CreateArtifact(kind="paper", data={"text": "One"})
    chat.workspace.commit(paper)
    chat.workspace.commit(core.SetFocus(thread_id=chat.id, artifact_ids=(paper.artifact_id,)))
    chat.post("Look")
    script = Script(killed, say("Seen."), say("Again."))
    with hosting(script):
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
            chat.post("Anything new?")
            chat.run_turn()
    told = [each for each in script.prompts(-1) if each.startswith("<workspace-changes>")]
    assert len(told) == 1
    assert f"created {paper.artifact_id}" in told[0]


def test_reading_history_that_cannot_be_read_does_not_keep_a_thread_from_ending(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.post("Hello?")
    with hosting(Script(call("list_artifacts"), killed)):
        dies(chat)

        def unreadable(*args: object, **kwargs: object) -> Any:
            raise history.HistoryUnreadable

        monkeypatch.setattr(history, "_read", unreadable)
        with after_the_wait(chat):
            chat.run_turn()
    assert chat.events(core.RunEnded)[-1].reason == "history_unreadable"


def test_the_text_of_a_reply_that_was_cut_short_is_no_reply(chat: Chat) -> None:
    chat.post("Hello?")

    async def half(messages: list[ModelMessage]) -> ModelResponse:
        return ModelResponse(parts=[TextPart("Half"), ToolCallPart("leave", {}, "c1")])

    def leave(ctx: RunContext[Any]) -> str:
        raise Killed

    script = Script(half, say("Whole."))
    with hosting(agent_with(script.model, tools=[leave])):
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
    assert chat.said() == ["Hello?", "Whole."]
