"""Tools that wait for people: what the log is told of them, once, and who may have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from pydantic_ai import (
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    Tool,
)
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.toolsets import FunctionToolset

from artifacts import core
from tests.support.kinds import Paper
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from tests.threads.dying import Killed, after_the_wait, dies, killed
from threads.agent import ArtifactWorkspace, Session
from threads.agent.running import Running
from threads.services import watching

Context = RunContext[Session[Any]]

CAN_PAUSE = [str, DeferredToolRequests]


class Mails:
    """A tool in every way in which one can wait for its approval, and what it did."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, ctx: Context, to: str) -> str:
        """Send a mail."""
        self.sent.append(to)
        return f"sent to {to}"

    def send_if_approved(self, ctx: Context, to: str) -> str:
        """Send a mail; strangers need an approval."""
        if to == "stranger" and not ctx.tool_call_approved:
            raise ApprovalRequired
        return self.send(ctx, to)

    def declared(self) -> dict[str, Any]:
        return {"tools": [Tool(self.send, name="mail", requires_approval=True)]}

    def raising(self) -> dict[str, Any]:
        return {"tools": [Tool(self.send_if_approved, name="mail")]}

    def guarded(self) -> dict[str, Any]:
        toolset = FunctionToolset([Tool(self.send, name="mail")])
        return {"toolsets": [toolset.approval_required()]}


MAIL = call("mail", to="stranger")
DECLINED = "The person did not approve this call: "
WAYS = ["declared", "raising", "guarded"]


def answer(chat: Chat, **given: Any) -> None:
    """Answer the one request of the run that waits."""
    run = chat.runs()[-1]
    (request,) = run.pending
    command = core.AnswerDeferred(run_id=run.id, tool_call_id=request.tool_call_id, **given)
    chat.workspace.commit(command)


def tool_facts(chat: Chat) -> list[str]:
    return [
        f"{each.type} {each.tool_name}" for each in chat.events(core.ToolCalled, core.ToolReturned)
    ]


@pytest.mark.parametrize("way", WAYS)
def test_an_approved_call_is_logged_once(chat: Chat, way: str) -> None:
    mails, script = Mails(), Script(MAIL, say("Done."))
    chat.post("Write to them")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE, **getattr(mails, way)())):
        chat.run_turn()
        assert [each.kind for each in chat.runs()[-1].pending] == ["approval"]
        assert mails.sent == []
        answer(chat, approved=True)
        chat.run_turn()
    assert mails.sent == ["stranger"]
    assert chat.said()[-1] == "Done."
    assert tool_facts(chat) == ["tool_called mail", "tool_returned mail"]


@pytest.mark.parametrize("way", WAYS)
def test_a_declined_call_executes_nothing(chat: Chat, way: str) -> None:
    """In the log it comes back only where its tool was called, and asked in the middle."""
    mails, script = Mails(), Script(MAIL, say("Then not."))
    chat.post("Write to them")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE, **getattr(mails, way)())):
        chat.run_turn()
        answer(chat, approved=False, answer="Too early")
        chat.run_turn()
    assert mails.sent == []
    assert tool_facts(chat) == (
        [] if way == "declared" else ["tool_called mail", "tool_returned mail"]
    )
    for fact in chat.events(core.ToolReturned):
        assert (fact.status, fact.summary) == ("error", DECLINED + "Too early")
    assert DECLINED + "Too early" in returned(script)


def test_a_question_is_told_by_the_pause_alone(chat: Chat) -> None:
    script = Script(call("ask_user", question="Which?", choices=["a", "b"]), say("Done."))
    chat.post("Choose")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE)):
        chat.run_turn()
        answer(chat, answer="b")
        chat.run_turn()
    assert tool_facts(chat) == []
    assert returned(script) == "b"


def test_a_call_that_a_person_does_is_logged_once(chat: Chat) -> None:
    def measure(ctx: Context) -> str:
        """Have somebody measure."""
        raise CallDeferred

    script = Script(call("measure"), say("Done."))
    chat.post("How long is it?")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE, tools=[measure])):
        chat.run_turn()
        answer(chat, answer={"metres": 3})
        chat.run_turn()
    assert tool_facts(chat) == ["tool_called measure", "tool_returned measure"]
    (fact,) = chat.events(core.ToolReturned)
    assert (fact.status, fact.summary) == ("ok", '{"metres":3}')
    assert returned(script) == '{"metres":3}'
    assert len({each.tool_call_id for each in chat.events(core.ToolCalled, core.ToolReturned)}) == 1


def test_an_answer_comes_back_in_the_log_once_though_its_attempt_dies(
    chat: Chat,
) -> None:
    def measure(ctx: Context) -> str:
        """Have somebody measure."""
        raise CallDeferred

    script = Script(call("measure"), killed, say("Done."))
    chat.post("How long is it?")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE, tools=[measure])):
        chat.run_turn()
        answer(chat, answer=3)
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
    assert tool_facts(chat) == ["tool_called measure", "tool_returned measure"]
    assert returned(script) == "3"
    assert chat.said()[-1] == "Done."


@pytest.mark.parametrize("again", [False, True])
def test_what_a_tool_says_when_it_asks_is_there_when_it_goes_on(chat: Chat, again: bool) -> None:
    """Also for whoever answers, and in the attempt after one that died."""
    heard: list[Any] = []

    def pay(ctx: Context, amount: int) -> str:
        """Pay a bill."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"account": "main", "rates": [1, None], "at": Ellipsis})
        heard.append(ctx.tool_call_metadata)
        return "paid"

    script = Script(call("pay", amount=3), say("Done."))
    chat.post("Pay it")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE, tools=[pay])):
        chat.run_turn()
        said = {"account": "main", "rates": [1, None], "at": "Ellipsis"}
        assert chat.runs()[-1].pending[0].metadata == said
        (paused,) = chat.events(core.RunPaused)
        assert paused.requests[0].metadata == said
        answer(chat, approved=True)
        if again:
            with dying_at_once():
                dies(chat)
            with after_the_wait(chat):
                chat.run_turn()
        else:
            chat.run_turn()
    assert heard == [said]
    assert chat.said()[-1] == "Done."


def test_a_question_without_anything_said_has_no_metadata(chat: Chat) -> None:
    script = Script(call("ask_user", question="Which?"))
    chat.post("Choose")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE)):
        chat.run_turn()
    (text,) = [each for each in chat.workspace.read_text() if "run_paused" in each]
    assert "metadata" not in text


def test_what_the_attempts_of_a_run_used_is_counted_together(chat: Chat) -> None:
    steps = [call("list_artifacts"), call("ask_user", question="One?")]
    more = [call("ask_user", question="Two?"), call("list_artifacts"), say("Done.")]
    script = Script(*steps, *more)
    chat.post("Choose")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE)):
        chat.run_turn()
        answer(chat, answer="a")
        chat.run_turn()
        answer(chat, answer="b")
        chat.run_turn()
    first, second = chat.events(core.RunPaused)
    (ended,) = chat.events(core.RunEnded)
    told = [first.usage, second.usage, ended.usage]
    assert [each["requests"] for each in told] == [2, 3, 5]
    assert [each["tool_calls"] for each in told] == [1, 1, 2]
    assert told[0]["output_tokens"] < told[1]["output_tokens"] < told[2]["output_tokens"]


def test_a_run_that_is_stopped_while_it_waits_tells_what_it_used(chat: Chat) -> None:
    script = Script(call("list_artifacts"), call("ask_user", question="One?"))
    chat.post("Choose")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE)):
        chat.run_turn()
        watching.stop_run(chat.workspace, chat.runs()[-1].id)
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.usage) == ("stopped", chat.events(core.RunPaused)[0].usage)
    assert ended.usage["requests"] == 2


@contextmanager
def dying_at_once() -> Iterator[None]:
    """Attempts die before their agent begins."""

    async def dead(self: Running) -> Any:
        raise Killed

    with mock.patch.object(Running, "_run", dead):
        yield


def test_what_is_enqueued_beside_an_approval_does_not_lose_it(chat: Chat) -> None:
    """Both calls are of one response; the run pauses, and the note is read when it goes on."""
    mails = Mails()

    def note(ctx: Context) -> str:
        """Leave a note for later."""
        ctx.enqueue("Remember the stamp.")
        return "noted"

    both = ModelResponse(parts=[ToolCallPart("note", {}), *MAIL.parts])
    script = Script(both, say("Done."))
    agent = agent_with(
        script.model,
        output_type=CAN_PAUSE,
        tools=[note, Tool(mails.send, name="mail", requires_approval=True)],
    )
    chat.post("Write to them")
    with hosting(agent):
        chat.run_turn()
        assert [each.tool_name for each in chat.runs()[-1].pending] == ["mail"]
        assert len(script.requests) == 1
        answer(chat, approved=True)
        chat.run_turn()
    assert mails.sent == ["stranger"]
    assert script.prompts(1).count("Remember the stamp.") == 1


def test_what_is_decided_inside_the_run_pauses_nothing(chat: Chat) -> None:
    async def approve(ctx: Context, requests: DeferredToolRequests) -> DeferredToolResults:
        return DeferredToolResults(
            approvals={each.tool_call_id: True for each in requests.approvals}
        )

    mails, script = Mails(), Script(MAIL, say("Done."))
    agent = agent_with(
        script.model,
        capabilities=[ArtifactWorkspace(types=[Paper]), HandleDeferredToolCalls(approve)],
        **mails.declared(),
    )
    chat.post("Write to them")
    with hosting(agent):
        chat.run_turn()
    assert mails.sent == ["stranger"]
    assert [each.status for each in chat.runs()] == ["completed"]
    assert tool_facts(chat) == ["tool_called mail", "tool_returned mail"]


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_cannot_wait_says_so(chat: Chat, way: str) -> None:
    """Before its first request where its tools declare it, else as soon as one asks."""
    mails, script = Mails(), Script(MAIL)
    chat.post("Write to them")
    with hosting(agent_with(script.model, **getattr(mails, way)())):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "cannot_pause")
    assert len(script.requests) == (1 if way == "raising" else 0)
    assert mails.sent == []

    chat.post("Then tell me a joke")
    with hosting(Script(say("Knock knock."))):
        chat.run_turn()
    assert chat.said()[-1] == "Knock knock."


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": ""},
        {"question": "w\0w?"},
        {"question": "w" * 4_001},
        {"question": "Which?", "choices": ["only one"]},
        {"question": "Which?", "choices": ["a", ""]},
        {"question": "Which?", "choices": ["a"] * 21},
    ],
)
def test_a_question_that_nobody_could_answer_goes_back(chat: Chat, wrong: Any) -> None:
    script = Script(call("ask_user", **wrong), say("Never mind."))
    chat.post("Choose")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE)):
        chat.run_turn()
    assert chat.events(core.RunPaused) == []
    assert chat.said()[-1] == "Never mind."


def returned(script: Script) -> str:
    """What the last request told the model of its call."""
    parts = [part for message in script.requests[-1] for part in message.parts]
    (part,) = [each for each in parts if isinstance(each, ToolReturnPart)]
    return part.model_response_str()
