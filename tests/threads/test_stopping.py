"""Stopping a run, and closing down: cut short at once, wherever it is, with everything answered."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.db import connections
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from artifacts import core
from artifacts.pool import in_pool
from tests.support.models import Gate, Script, agent_with, call, hosting, say
from tests.support.racing import Background
from tests.support.sites import wait_until
from tests.threads.conftest import Chat
from tests.threads.dying import die_at_once
from tests.threads.test_retries import returns
from threads import models
from threads.agent import history, running
from threads.services import stops, turns, watching

FOREVER = 600


class Endless:
    """A step or a tool that waits until it is cut short."""

    def __init__(self) -> None:
        self.reached, self.left = threading.Event(), threading.Event()

    async def __call__(self, messages: list[ModelMessage]) -> ModelResponse:
        await self.wait()
        raise AssertionError("nobody stopped it")

    async def tool(self, ctx: RunContext[Any]) -> str:
        await self.wait()
        return "nobody stopped it"

    async def wait(self) -> None:
        self.reached.set()
        try:
            await asyncio.sleep(FOREVER)
        finally:
            self.left.set()


def begun(chat: Chat, endless: Endless) -> tuple[Background, str]:
    turn = Background(chat.run_turn)
    assert endless.reached.wait(60), "the turn did not begin"
    (run_id,) = [run.id for run in chat.runs() if run.status == "running"]
    return turn, run_id


def test_a_run_is_stopped_while_the_model_answers(chat: Chat) -> None:
    endless = Endless()
    chat.post("Take your time")
    script = Script(endless, say("Hello."))
    with hosting(script):
        turn, run_id = begun(chat, endless)
        watching.stop_run(chat.workspace, run_id)
        turn.result()
        assert endless.left.is_set()
        (ended,) = chat.events(core.RunEnded)
        assert (ended.status, ended.reason, ended.error) == ("stopped", None, None)
        assert "requests" in ended.usage
        row = models.Thread.objects.get(public_id=chat.id)
        assert row.taken_seq == row.asked_seq  # what it began with is not begun again

        chat.post("Hello?")
        chat.run_turn()
    assert script.prompts(-1) == ["Take your time", "Hello?"]
    assert chat.said()[-1] == "Hello."


def test_another_process_finds_the_mark_by_looking(chat: Chat) -> None:
    """The mark is in the database alone: nobody wakes the process that runs it."""
    endless = Endless()
    chat.post("Take your time")
    with hosting(Script(endless)):
        turn, run_id = begun(chat, endless)
        stops.request_stop(chat.workspace, run_id)
        turn.result()
    assert [run.status for run in chat.runs()] == ["stopped"]


def test_a_tool_that_was_cut_short_is_in_doubt(chat: Chat) -> None:
    endless = Endless()
    chat.post("Try")
    calls = ModelResponse(
        parts=[ToolCallPart("tool", {}, "c1"), ToolCallPart("list_artifacts", {}, "c2")]
    )
    script = Script(calls, say("Fine."))
    with hosting(agent_with(script.model, tools=[endless.tool])):
        turn, run_id = begun(chat, endless)
        watching.stop_run(chat.workspace, run_id)
        turn.result()
        chat.post("Again")
        chat.run_turn()
    assert returns(script.requests[-1]) == {"c1": history.IN_DOUBT, "c2": history.NOT_EXECUTED}


def test_a_statement_in_flight_comes_to_its_end(chat: Chat) -> None:
    go_on, reached = threading.Event(), threading.Event()

    def slowly() -> None:
        reached.set()
        go_on.wait(60)
        chat.workspace.commit(core.CreateArtifact(kind="paper", data={"text": "whole"}))

    async def tool(ctx: RunContext[Any]) -> str:
        await in_pool(slowly)
        return "made"

    chat.post("Try")
    with hosting(agent_with(Script(call("tool"), say("Fine.")).model, tools=[tool])):
        turn = Background(chat.run_turn)
        assert reached.wait(60)
        watching.stop_run(chat.workspace, chat.runs()[0].id)
        go_on.set()
        turn.result()
    assert [run.status for run in chat.runs()] == ["stopped"]
    assert chat.workspace.verify() == []


def test_a_plain_tool_comes_to_its_end_and_leaves_no_connection_open(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, reached, cut = threading.Event(), threading.Event(), threading.Event()
    used: list[Any] = []
    cancel = running.Running.cancel

    def cutting(self: running.Running, why: Any) -> None:
        cancel(self, why)
        cut.set()

    monkeypatch.setattr(running.Running, "cancel", cutting)

    def tool(ctx: RunContext[Any]) -> str:
        ctx.deps.workspace.commit(core.CreateArtifact(kind="paper", data={"text": "one"}))
        reached.set()
        go_on.wait(60)
        ctx.deps.workspace.commit(core.CreateArtifact(kind="paper", data={"text": "two"}))
        used.append(connections["default"])
        return "made"

    chat.post("Try")
    with hosting(agent_with(Script(call("tool"), say("Fine.")).model, tools=[tool])):
        turn = Background(chat.run_turn)
        assert reached.wait(60)
        watching.stop_run(chat.workspace, chat.runs()[0].id)
        assert cut.wait(60), "nobody told the run to stop"
        go_on.set()
        turn.result()
    assert [run.status for run in chat.runs()] == ["stopped"]
    assert len(chat.events(core.ArtifactCreated)) == 2  # before the run has ended, none after it
    assert chat.workspace.read()[-1].event.type == "run_ended"
    assert [each.connection for each in used] == [None]


def test_a_tool_that_does_not_let_go_is_left_behind_and_writes_nothing(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CUT_SECONDS", 0.2)
    go_on, reached, refused = threading.Event(), threading.Event(), list[BaseException]()

    async def stubborn(ctx: RunContext[Any]) -> str:
        reached.set()
        while not go_on.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        try:
            await ctx.deps.workspace.acommit(core.CreateArtifact(kind="paper", data={}))
        except core.Rejection as error:
            refused.append(error)
        return "too late"

    chat.post("Try")
    script = Script(call("stubborn"), say("Late."))
    with hosting(agent_with(script.model, tools=[stubborn])):
        turn = Background(chat.run_turn)
        assert reached.wait(60)
        watching.stop_run(chat.workspace, chat.runs()[0].id)
        turn.result()
        go_on.set()
        wait_until(lambda: bool(refused))
    assert [type(error).__name__ for error in refused] == ["LeaseLost"]
    assert chat.events(core.ArtifactCreated) == []
    assert chat.said() == ["Try"]
    assert len(chat.events(core.ToolReturned)) == 0


def test_a_stop_for_a_run_whose_process_died_ends_it_for_good(chat: Chat) -> None:
    chat.post("Hello?")
    die_at_once(chat)
    stops.request_stop(chat.workspace, chat.runs()[0].id)
    assert turns.sweep() == 1
    with hosting(Script(say("Hello."))):
        chat.run_turn()
        chat.run_turn()
    assert [run.status for run in chat.runs()] == ["stopped"]
    assert chat.said() == ["Hello?"]


def test_one_look_serves_all_turns_of_a_process(
    open_chat: Callable[[], Chat], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, it is one statement, and only the one that is asked stops."""
    looks: list[int] = []
    asked = watching.selectors.stops_asked

    def counted(run_ids: Iterable[str]) -> list[tuple[int, str]]:
        ids = list(run_ids)
        looks.append(len(ids))
        return asked(ids)

    monkeypatch.setattr(watching.selectors, "stops_asked", counted)
    chats = [open_chat() for _ in range(3)]
    gates = [Gate(say("Done.")) for _ in chats]
    with hosting(Script(*gates)):
        running_turns = []
        for chat, gate in zip(chats, gates, strict=True):
            chat.post("Begin")
            running_turns.append(Background(chat.run_turn))
            assert gate.reached.wait(60)
        wait_until(lambda: 3 in looks)
        watchers = [each for each in threading.enumerate() if each.name == "turns"]
        assert len(watchers) == 1
        watching.stop_run(chats[1].workspace, chats[1].runs()[0].id)
        running_turns[1].result()
        for gate in gates:
            gate.opened.set()
        for turn in running_turns:
            turn.result()
    assert [chat.runs()[0].status for chat in chats] == ["completed", "stopped", "completed"]
    wait_until(lambda: all(not each.is_alive() for each in watchers))


def test_closing_down_hands_a_running_turn_over(chat: Chat) -> None:
    endless = Endless()
    chat.post("Take your time")
    script = Script(endless, say("I go on."))
    with hosting(script):
        turn, run_id = begun(chat, endless)
        watching.hand_over_all()
        turn.result()
        (ended,) = chat.events(core.RunEnded)
        assert (ended.run_id, ended.status, ended.reason) == (run_id, "failed", "abandoned")
        assert "handed over" in ended.error
        row = models.Thread.objects.get(public_id=chat.id)
        assert (row.tries, row.not_before) == (0, None)  # it says nothing about the turn
        chat.run_turn()
    assert script.prompts(-1)[0] == "Take your time"
    assert [run.status for run in chat.runs()] == ["failed", "completed"]
    assert chat.said() == ["Take your time", "I go on."]


def test_a_process_that_ends_lets_turns_go_on_for_a_while_and_begins_none(
    open_chat: Callable[[], Chat], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_ends", threading.Event())
    quick, endless = Gate(say("Just in time.")), Endless()
    chats = [open_chat() for _ in range(3)]
    with hosting(Script(quick, endless), DRAIN_SECONDS=1):
        for chat in chats:
            chat.post("Begin")
        turns_begun = [Background(chats[0].run_turn)]
        assert quick.reached.wait(60)
        turns_begun.append(begun(chats[1], endless)[0])
        watching.drain()
        chats[2].run_turn()
        quick.opened.set()
        for turn in turns_begun:
            turn.result()
    statuses = [[(run.status) for run in chat.runs()] for chat in chats]
    assert statuses == [["completed"], ["failed"], []]
    assert turns.sweep() == 2


def test_the_first_reason_counts(chat: Chat) -> None:
    endless = Endless()
    chat.post("Take your time")
    with hosting(Script(endless)):
        turn, run_id = begun(chat, endless)
        stops.request_stop(chat.workspace, run_id)
        wait_until(lambda: bool(chat.events(core.RunEnded)) or endless.left.is_set())
        watching.hand_over_all()
        turn.result()
    assert [run.status for run in chat.runs()] == ["stopped"]


def test_stopping_twice_is_once(chat: Chat) -> None:
    endless = Endless()
    chat.post("Take your time")
    with hosting(Script(endless)):
        turn, run_id = begun(chat, endless)
        for _ in range(2):
            watching.stop_run(chat.workspace, run_id, command_id="stop-1")
        turn.result()
        watching.stop_run(chat.workspace, run_id, command_id="stop-1")
        with pytest.raises(core.NotFound):
            watching.stop_run(chat.workspace, run_id, command_id="stop-2")
    assert len(chat.events(core.RunEnded)) == 1
