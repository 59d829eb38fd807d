"""Bad models: whatever they do, the turn ends with a reason people can read, the stored history
answers every call, and the thread answers the next message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)

from artifacts import conf, core
from tests.support.kinds import Board
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from threads import models, selectors
from threads.agent import ArtifactWorkspace, Session, history
from threads.services import live

SECRET = "sk-very-secret"


def calls(*ids: str | None, name: str = "list_artifacts", **args: Any) -> ModelResponse:
    """One response with several calls under these ids."""
    made = [ToolCallPart(name, args) if id is None else ToolCallPart(name, args, id) for id in ids]
    return ModelResponse(parts=made)


async def raises(messages: list[ModelMessage]) -> ModelResponse:
    raise RuntimeError(f"Traceback with {SECRET}")


async def refuses(messages: list[ModelMessage]) -> ModelResponse:
    raise ModelHTTPError(503, "some-model", {"error": SECRET})


async def hangs(messages: list[ModelMessage]) -> ModelResponse:
    await asyncio.Event().wait()
    raise AssertionError("nobody stopped it")


async def dawdles(messages: list[ModelMessage]) -> ModelResponse:
    await asyncio.sleep(0.4)
    return call("list_artifacts")


LISTS = call("list_artifacts")
FAILING: dict[str, tuple[list[Any], str, dict[str, int]]] = {
    "raises": ([raises], "internal_error", {}),
    "raises after a call": ([LISTS, raises], "internal_error", {}),
    "is refused": ([LISTS, refuses], "model_failed", {}),
    "hangs": ([LISTS, hangs], "model_timeout", {"REQUEST_SECONDS": 1}),
    "dawdles": ([dawdles] * 20, "turn_timeout", {"TURN_SECONDS": 1}),
    "loops on tools": ([LISTS] * 30, "limit_exceeded", {"TURN_TOOL_CALLS": 5}),
    "loops on requests": ([LISTS] * 9, "limit_exceeded", {"TURN_REQUESTS": 5}),
    "calls more at once than it may": (
        [calls(*[None] * 9), say("x")],
        "limit_exceeded",
        {"TURN_TOOL_CALLS": 5},
    ),
    "calls unknown tools": ([call("launch_rocket")] * 9, "model_misbehaved", {}),
    "gives wrong arguments": ([call("read_artifact", id=[1])] * 9, "model_misbehaved", {}),
    "gives no arguments at all": (
        [ModelResponse(parts=[ToolCallPart("read_artifact", "{nonsense")])] * 9,
        "model_misbehaved",
        {},
    ),
    "gives calls the same id": ([calls("same", "same")], "model_misbehaved", {}),
    "answers nothing": ([ModelResponse(parts=[])] * 9, "model_misbehaved", {}),
    "answers an empty text": ([say("")] * 9, "model_misbehaved", {}),
    "only thinks": ([ModelResponse(parts=[ThinkingPart("Hm.")])] * 9, "model_misbehaved", {}),
    "answers blanks": ([say("  \n")], "empty_reply", {}),
    "answers NUL": ([say("\0 \0")], "empty_reply", {}),
}


@pytest.mark.parametrize("name", FAILING)
def test_the_turn_ends_with_a_reason_and_the_thread_goes_on(chat: Chat, name: str) -> None:
    steps, reason, limits = FAILING[name]
    turn(chat, *steps, **limits)
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", reason)
    assert ended.error.endswith(".")
    assert models.Run.objects.get().reason == reason
    text = "".join(chat.workspace.read_text())
    assert "Traceback" not in text
    assert SECRET not in text
    check_usable(chat)


SURVIVED: dict[str, list[Any]] = {
    "uses an id again": [calls("same"), calls("same"), say("Done.")],
    "gives calls no id": [calls("", ""), say("Done.")],
    "gives calls odd ids": [calls("a/b", "c\0d", "x" * 300, "é" * 200), say("Done.")],
    "takes an unknown tool back": [call("launch_rocket"), say("Done.")],
    "corrects its arguments": [call("read_artifact"), LISTS, say("Done.")],
    "gives arguments of half a character": [
        ModelResponse(parts=[ToolCallPart("read_artifact", '{"artifact_id": "\\ud800"}')]),
        say("Done."),
    ],
    "gives NUL as arguments": [call("read_artifact", artifact_id="\0"), say("Done.")],
    "says nothing once": [ModelResponse(parts=[]), say("Done.")],
    "talks while it calls": [
        ModelResponse(parts=[TextPart("I look."), ToolCallPart("list_artifacts", {})]),
        say("Done."),
    ],
    "thinks half characters": [ModelResponse(parts=[ThinkingPart("\ud800"), TextPart("Done.")])],
    "sends huge arguments": [call("read_artifact", artifact_id="x" * 2_000_000), say("Done.")],
}


@pytest.mark.parametrize("name", SURVIVED)
def test_the_turn_goes_on_all_the_same(chat: Chat, name: str) -> None:
    turn(chat, *SURVIVED[name])
    (ended,) = chat.events(core.RunEnded)
    assert ended.status == "completed", ended
    assert chat.said()[-1] == "Done."
    called, returned = chat.events(core.ToolCalled), chat.events(core.ToolReturned)
    assert [each.tool_call_id for each in called] == [each.tool_call_id for each in returned]
    check_usable(chat)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"REQUEST_SECONDS": 1}, "model_timeout"), ({"TURN_SECONDS": 1}, "turn_timeout")],
)
def test_a_stream_that_stops_in_the_middle_is_not_waited_for(
    chat: Chat, limits: dict[str, int], reason: str
) -> None:
    async def words(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "To begin with, "
        await asyncio.Event().wait()

    chat.post("Go")
    with hosting(agent_with(FunctionModel(stream_function=words)), **limits):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", reason)
    check_usable(chat)


def test_a_stream_that_breaks_off_ends_the_turn(chat: Chat) -> None:
    async def words(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "To begin with, "
        raise ConnectionError(SECRET)

    chat.post("Go")
    with hosting(agent_with(FunctionModel(stream_function=words))):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "internal_error")
    assert SECRET not in "".join(chat.workspace.read_text())
    check_usable(chat)


def test_a_stream_that_never_ends_costs_a_turn_and_no_memory(chat: Chat) -> None:
    async def words(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        while True:
            yield "and so on, " * 100
            await asyncio.sleep(0)

    chat.post("Go")
    model, by_time_alone = FunctionModel(stream_function=words), 10**12
    with hosting(agent_with(model), REQUEST_SECONDS=1, RESPONSE_CHARS=by_time_alone):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "model_timeout")

    async def kept() -> list[tuple[int, str]]:
        run = live.RunKey(chat.workspace.pk, ended.run_id)
        try:
            return await live.store().read(run, after=0, wait_seconds=0)
        finally:
            await live.store().aclose()  # of this loop

    frames = async_to_sync(kept)()
    assert frames
    assert sum(len(text) for _, text in frames) <= conf.settings().LIVE_BYTES
    check_usable(chat)


def words_for_ever() -> Any:
    while True:
        yield "and so on, " * 10


def thoughts_for_ever() -> Any:
    while True:
        yield {0: DeltaThinkingPart(content="hm, " * 10)}


def arguments_for_ever() -> Any:
    yield {0: DeltaToolCall("read_artifact", '{"artifact_id": "', tool_call_id="c1")}
    while True:
        yield {0: DeltaToolCall(json_args="x" * 40)}


@pytest.mark.parametrize("endless", [words_for_ever, thoughts_for_ever, arguments_for_ever])
def test_a_stream_without_end_is_cut_off_by_its_size(chat: Chat, endless: Any) -> None:
    said = 0

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        nonlocal said
        for piece in endless():
            said += 40
            yield piece
            await asyncio.sleep(0)

    chat.post("Go")
    model = FunctionModel(stream_function=stream)
    with hosting(agent_with(model), RESPONSE_CHARS=10_000):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "response_too_large")
    assert said < 20_000
    assert sum(len(text) for text in chat.workspace.read_text()) < 20_000
    check_usable(chat)


def test_what_a_response_may_have_is_counted_for_each(chat: Chat) -> None:
    """Also of a model that answers whole."""
    steps = [call("read_artifact", artifact_id="x" * 900), say("y" * 900), say("z" * 1_100)]

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return steps.pop(0)

    chat.post("Go")
    with hosting(agent_with(FunctionModel(respond)), RESPONSE_CHARS=1_000):
        chat.run_turn()
        assert chat.said()[-1] == "y" * 900
        chat.post("More")
        chat.run_turn()
    assert chat.events(core.RunEnded)[-1].reason == "response_too_large"
    check_usable(chat)


def test_a_huge_answer_is_cut_where_a_message_ends(chat: Chat) -> None:
    turn(chat, say("é" * 3_000_000))
    reply = chat.said()[-1]
    assert len(reply.encode()) <= 65_536
    assert reply.endswith("é …")
    check_usable(chat)


def test_an_answer_that_no_message_may_hold_is_cleaned(chat: Chat) -> None:
    turn(chat, say("a\0b\ud800c"))
    assert chat.said()[-1] == "ab?c"
    check_usable(chat)


def test_what_no_history_may_hold_costs_the_history_alone(chat: Chat) -> None:
    """A segment that cannot be stored says so, and the rest is remembered."""
    turn(chat, say("\ud800 ok"))
    turn(chat, say("Fine."))
    script = turn(chat, say("Still fine."))
    remembered = [
        part.content
        for message in script.requests[0]
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    assert "Fine." in remembered


@pytest.mark.parametrize("limit", ["open_proposals_per_run", "open_proposals_per_agent"])
def test_a_flood_of_proposals_is_dammed(chat: Chat, limit: str) -> None:
    board = core.CreateArtifact(kind="board", data={"goal": "Ship"})
    chat.workspace.commit(board)
    goals = ["Ship", *(f"Ship {number}" for number in range(4))]
    flood = [
        call(
            "edit_text",
            artifact_id=board.artifact_id,
            field="goal",
            edits=[{"old": "Ship", "new": f"Ship {number}"}],
        )
        for number, _ in enumerate(goals)
    ]
    capability = ArtifactWorkspace(types=[Board])
    script = Script(*flood, say("Enough."))
    chat.post("Go")
    with hosting(agent_with(script.model, capabilities=[capability]), LIMITS={limit: 3}):
        chat.run_turn()
    assert chat.said()[-1] == "Enough."
    assert len(chat.workspace.proposals("pending")) == 3
    statuses = [each.status for each in chat.events(core.ToolReturned)]
    assert statuses == ["ok"] * 3 + ["error"] * 2
    assert "at most 3 open proposals" in chat.events(core.ToolReturned)[-1].summary
    check_usable(chat)


def test_a_crashing_tool_names_itself(chat: Chat) -> None:
    def lookup(ctx: RunContext[Session[Any]]) -> str:
        raise KeyError(SECRET)

    chat.post("Go")
    with hosting(agent_with(Script(calls("one", "two", name="lookup")).model, tools=[lookup])):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.reason, ended.error) == ("tool_failed", "The tool lookup failed.")
    (returned,) = chat.events(core.ToolReturned)
    assert (returned.status, returned.summary) == ("error", "The tool failed.")
    assert SECRET not in "".join(chat.workspace.read_text())
    check_usable(chat)


def turn(chat: Chat, *steps: Any, **limits: Any) -> Script:
    chat.post("Try")
    script = Script(*steps)
    with hosting(script, **limits):
        chat.run_turn()
    return script


def check_usable(chat: Chat) -> None:
    """The next message gets its answer from a history without open calls."""
    stored = stored_history(chat)
    assert not unanswered(stored)
    script = turn(chat, say("At your service."))
    assert chat.said()[-1] == "At your service."
    assert not unanswered(script.requests[0])


def stored_history(chat: Chat) -> list[ModelMessage]:
    """What is in the database, before anything repairs it."""
    row = selectors.thread_row(chat.workspace, chat.id)
    messages: list[ModelMessage] = []
    for segment in selectors.segments(row).filter(usable=True):
        messages += history.ModelMessagesTypeAdapter.validate_json(bytes(segment.data))
    return messages


def unanswered(messages: Iterable[ModelMessage]) -> list[str]:
    """Calls without a return, each call counted: ids may repeat."""
    open_ids: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            open_ids += [part.tool_call_id for part in message.tool_calls]
        elif isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and part.tool_call_id in open_ids:
                    open_ids.remove(part.tool_call_id)
    return open_ids
