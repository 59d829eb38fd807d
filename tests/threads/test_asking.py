"""Tools that wait for people: what the log is told of them, once, and who may have them."""

from __future__ import annotations

from typing import Any

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
from threads.agent import ArtifactWorkspace, Session

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
def test_a_declined_call_never_came_back(chat: Chat, way: str) -> None:
    mails, script = Mails(), Script(MAIL, say("Then not."))
    chat.post("Write to them")
    with hosting(agent_with(script.model, output_type=CAN_PAUSE, **getattr(mails, way)())):
        chat.run_turn()
        answer(chat, approved=False, answer="Too early")
        chat.run_turn()
    assert mails.sent == []
    assert "tool_returned mail" not in tool_facts(chat)
    assert "Too early" in returned(script)


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
    assert tool_facts(chat) == ["tool_called measure"]
    assert returned(script) == '{"metres":3}'


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
