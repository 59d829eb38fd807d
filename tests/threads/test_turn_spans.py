"""Spans of turns: in the trace of who asked, around the agent's own, without a word of content."""

from typing import Any

from opentelemetry import trace
from pydantic_ai import InstrumentationSettings, RunContext
from pydantic_ai.capabilities import Instrumentation
from pydantic_core import to_json

from artifacts import core, telemetry
from tests.support.kinds import Board, Paper
from tests.support.models import Script, agent_with, call, hosting, say
from tests.support.racing import Background
from tests.support.spans import Spans, recorded
from tests.threads.conftest import Chat
from tests.threads.test_pauses import ASK, Mails
from tests.threads.test_stopping import Endless, begun
from threads import tasks
from threads.agent import ArtifactWorkspace
from threads.services import endings, stops

CANARY = "canary-7f3a"


def in_a_trace(chat: Chat, text: str) -> str:
    """Post within a span; the id of its trace."""
    with telemetry.span("asking", {}):
        chat.post(text)
        trace_id = telemetry.current().trace_id
    assert trace_id is not None
    return trace_id


def trace_of(spans: Spans, name: str) -> str:
    context = spans.one(name).context
    assert context is not None
    return f"{context.trace_id:032x}"


def test_a_turn_goes_on_with_the_trace_of_who_asked(chat: Chat) -> None:
    with recorded() as spans, hosting(Script(say("Hello."))):
        asked = in_a_trace(chat, "Hello?")
        Background(chat.run_turn).result()  # as a worker, with no span of its own
        assert trace_of(spans, "artifactr.turn") == asked
        said = spans.attributes("artifactr.turn")
    (run,) = chat.runs()
    assert run.trace_ids == (asked,)
    assert [each.trace_id for each in chat.events(core.RunStarted)] == [asked]
    assert said["artifactr.thread.id"] == said["gen_ai.conversation.id"] == chat.id
    assert said["artifactr.run.id"] == run.id
    assert said["artifactr.turn.status"] == "completed"


def test_a_run_that_resumes_has_a_trace_for_each_attempt(chat: Chat) -> None:
    with recorded() as spans, hosting(Mails().hosted_with(Script(ASK, say("Blue.")))):
        asked = in_a_trace(chat, "Paint it")
        chat.run_turn()
        (run,) = chat.runs()
        spans.clear()
        with telemetry.span("answering", {}):
            answered = telemetry.current().trace_id
            chat.workspace.commit(
                core.AnswerDeferred(
                    run_id=run.id, tool_call_id=run.pending[0].tool_call_id, answer="blue"
                )
            )
        chat.run_turn()
        assert trace_of(spans, "artifactr.turn") == answered
    assert chat.runs()[0].trace_ids == (asked, answered)


def test_the_agents_own_spans_are_below_and_name_the_thread_as_conversation(chat: Chat) -> None:
    seen: list[Any] = []

    def look(ctx: RunContext[Any]) -> str:
        seen.append((ctx.conversation_id, ctx.run_id, trace.get_current_span().get_span_context()))
        return "seen"

    with recorded() as spans:
        instrumented = Instrumentation(
            InstrumentationSettings(tracer_provider=spans.provider, include_content=False)
        )
        capabilities = [ArtifactWorkspace(types=[Paper, Board]), instrumented]
        agent = agent_with(
            Script(call("look"), say("Hello.")).model, tools=[look], capabilities=capabilities
        )
        chat.post("Hello?")
        with hosting(agent):
            chat.run_turn()
        turn = spans.one("artifactr.turn").context
        own = [each for each in spans.all if each.name.startswith(("invoke_agent", "agent run"))]
    assert turn is not None
    assert own, spans.names()
    assert own[0].parent is not None
    assert own[0].parent.trace_id == turn.trace_id
    ((conversation, attempt, inside),) = seen
    assert conversation == chat.id
    assert attempt != chat.runs()[0].id
    assert inside.trace_id == turn.trace_id


told: list[Any] = []


def ended(turn: endings.Ended) -> None:
    told.append(trace.get_current_span().get_span_context().span_id)
    raise RuntimeError(CANARY)


def test_what_is_told_of_a_turn_is_told_inside_its_span_and_its_failure_noted(chat: Chat) -> None:
    told.clear()
    chat.post("Hello?")
    with recorded() as spans, hosting(Script(say("Hello.")), TURN_ENDED=[f"{__name__}.ended"]):
        chat.run_turn()
        span = spans.one("artifactr.turn")
    assert span.context is not None
    assert told == [span.context.span_id]
    assert span.attributes is not None
    assert span.attributes["error.type"] == "RuntimeError"


def test_no_span_holds_what_anybody_wrote(chat: Chat) -> None:
    """Not the prompt, the reply, a tool's arguments or result, nor the message of an error."""

    def echo(ctx: RunContext[Any], text: str) -> str:
        return text

    async def breaks(messages: object) -> Any:
        raise RuntimeError(CANARY)

    script = Script(call("echo", text=CANARY), say(CANARY), breaks)
    with recorded() as spans, hosting(agent_with(script.model, tools=[echo])):
        for _ in range(2):
            chat.post(CANARY)
            chat.run_turn()
        texts = [
            str((each.name, dict(each.attributes or {}), each.status.description, each.events))
            for each in spans.all
        ]
        assert spans.names().count("artifactr.turn") == 2
    assert CANARY in to_json([each.event for each in chat.workspace.read()]).decode()
    assert not [text for text in texts if CANARY in text]


def test_looking_for_work_is_not_traced(chat: Chat) -> None:
    endless = Endless()
    chat.post("Take your time")
    with recorded() as spans:
        tasks.sweep_turns()
        assert spans.names() == []
        with hosting(Script(endless)):
            turn, run_id = begun(chat, endless)
            before = list(spans.names())
            tasks.sweep_turns()
            assert spans.names() == before
            stops.request_stop(chat.workspace, run_id)
            turn.result()
        assert spans.attributes("artifactr.turn")["artifactr.turn.status"] == "stopped"
