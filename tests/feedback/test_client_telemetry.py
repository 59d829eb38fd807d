"""Which use the spans of a block belong to: ids and hashes, and nothing that anybody wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from django.test import override_settings
from opentelemetry import baggage, trace
from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from artifacts import core
from artifacts.models import Workspace as Row
from feedback import telemetry
from feedback.bound import BoundArtifact
from feedback.local import AsyncLocal, Local
from feedback.models import ArtifactUse
from tests.feedback.clients import WAYS, Caller, as_program, calling
from tests.support.cast import ANA
from tests.support.models import Script, agent_with, hosting, say
from tests.support.skilled import ADA, RECIPE, TASK, put_skill
from tests.threads.conftest import Chat
from threads.agent import Hosted

CANARY = "canary-4711"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What a host's SDK exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


@pytest.fixture(params=WAYS)
def caller(
    request: pytest.FixtureRequest, row: Row, server_of: Callable[[str], str]
) -> Iterator[Caller]:
    with calling(request.param, row, server_of(request.param)) as made:
        yield made


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [each for each in spans.get_finished_spans() if each.name == name]
    return found


def of_use(span: ReadableSpan) -> dict[str, object]:
    """Its attributes that say which use it belongs to."""
    prefixes = ("artifactr.use.", "artifactr.artifact.")
    return {k: v for k, v in (span.attributes or {}).items() if k.startswith(prefixes)}


def test_spans_inside_say_which_use_they_belong_to(
    caller: Caller, spans: InMemorySpanExporter
) -> None:
    uses: list[BoundArtifact] = []

    def work(bound: BoundArtifact) -> None:
        uses.append(bound)
        with trace.get_tracer("a.provider").start_as_current_span("outer"):
            trace.get_tracer("another").start_span("inner").end()

    caller.within(RECIPE, TASK, work)
    trace.get_tracer("a.provider").start_span("afterwards").end()

    (bound,) = uses
    expected = {
        "artifactr.use.id": bound.id,
        "artifactr.artifact.name": RECIPE,
        "artifactr.artifact.version": 1,
        "artifactr.artifact.definition_hash": bound.artifact["definition_hash"],
        "artifactr.artifact.render_sha256": bound.render_sha256,
    }
    assert dict(bound.telemetry_attributes) == expected
    for name in ("artifactr.use", "outer", "inner"):
        assert of_use(named(spans, name)) == expected
    assert of_use(named(spans, "afterwards")) == {}
    opened, outer = named(spans, "artifactr.use"), named(spans, "outer")
    assert outer.parent is not None
    assert outer.parent.span_id == opened.context.span_id
    assert dict(opened.attributes or {}) == expected  # and nothing else


def test_a_snapshot_is_named_where_there_is_one(row: Row, spans: InMemorySpanExporter) -> None:
    with Local(as_program(row)).artifact(RECIPE).use(TASK, snapshot=True) as bound:
        pass
    assert of_use(named(spans, "artifactr.use"))["artifactr.artifact.snapshot_id"] == (
        bound.snapshot_id
    )


def test_the_namespace_is_a_setting(row: Row, spans: InMemorySpanExporter) -> None:
    with (
        override_settings(ARTIFACTR={"TELEMETRY_NAMESPACE": "shop.prompts"}),
        Local(as_program(row)).artifact(RECIPE).use(TASK),
    ):
        pass
    attributes = named(spans, "artifactr.use").attributes or {}
    assert "shop.prompts.use.id" in attributes
    assert not any(name.startswith("artifactr.use") for name in attributes)


def test_a_bind_opens_no_span_of_its_own(row: Row, spans: InMemorySpanExporter) -> None:
    Local(as_program(row)).artifact(RECIPE).bind(TASK)
    trace.get_tracer("a.provider").start_span("work").end()
    assert [each.name for each in spans.get_finished_spans() if of_use(each)] == []
    assert "artifactr.use" not in [each.name for each in spans.get_finished_spans()]


def test_nothing_that_anybody_wrote_is_on_a_span_or_in_baggage(
    row: Row, spans: InMemorySpanExporter
) -> None:
    """A canary in skill, record, parameters, model output and the name of the user."""
    person = core.UserActor(id="7", name=f"Eve {CANARY}")
    workspace = as_program(row).as_actor(person)
    put_skill(workspace, {"steps": f"Say {CANARY}."}, entity=f"agent:{CANARY}")
    parameters = {"entity": f"agent:{CANARY}", "task": f"Answer {CANARY}."}
    carried: dict[str, str] = {}
    with Local(workspace).artifact(RECIPE).use(parameters, snapshot=True) as bound:
        assert CANARY in bound.content
        inject(carried)
        assert baggage.get_all() == {}
        trace.get_tracer("a.provider").start_span("model", attributes={"tokens": 3}).end()
    with (
        pytest.raises(RuntimeError, match=CANARY),
        Local(workspace).artifact(RECIPE).use(parameters),
    ):
        raise RuntimeError(f"the model said {CANARY}")

    assert "baggage" not in carried
    assert all(isinstance(value, str | int) for value in bound.telemetry_attributes.values())
    assert CANARY not in str(dict(bound.telemetry_attributes))
    told = [each.to_json() for each in spans.get_finished_spans()]
    assert len([each for each in told if '"artifactr.use"' in each]) == 2
    assert [each for each in told if CANARY in each] == []


def test_without_an_sdk_it_works_the_same(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", trace.NoOpTracerProvider())
    with Local(as_program(row)).artifact(RECIPE).use(TASK) as bound:
        assert not trace.get_current_span().is_recording()
        assert telemetry.active() == bound.telemetry_attributes
    assert telemetry.active() == {}
    assert ArtifactUse.objects.count() == 1


def test_two_uses_at_once_do_not_mix(row: Row, spans: InMemorySpanExporter) -> None:
    here = AsyncLocal(as_program(row))
    both = asyncio.Barrier(2)

    async def work(name: str) -> str:
        async with here.artifact(RECIPE).use({"entity": ADA, "task": name}) as bound:
            await both.wait()
            trace.get_tracer("a.provider").start_span(name).end()
            await both.wait()
            return bound.id

    async def two() -> tuple[str, str]:
        return await asyncio.gather(work("one"), work("two"))

    one, two_ = asyncio.run(two())
    assert of_use(named(spans, "one"))["artifactr.use.id"] == one
    assert of_use(named(spans, "two"))["artifactr.use.id"] == two_
    assert one != two_


def test_a_nested_use_names_the_inner_one_and_then_the_outer_again(
    row: Row, spans: InMemorySpanExporter
) -> None:
    here = Local(as_program(row))
    tracer = trace.get_tracer("a.provider")
    with here.artifact(RECIPE).use(TASK) as outer:
        with here.artifact("maintained_skill").use({"entity": ADA}) as inner:
            tracer.start_span("in the inner").end()
        tracer.start_span("in the outer").end()
    assert of_use(named(spans, "in the inner"))["artifactr.use.id"] == inner.id
    assert of_use(named(spans, "in the outer"))["artifactr.use.id"] == outer.id


def test_a_turn_on_a_recipe_says_so_on_its_span_and_those_inside(
    row: Row, spans: InMemorySpanExporter
) -> None:
    workspace = as_program(row).as_actor(ANA)
    command = core.CreateThread(title="A chat")
    workspace.commit(command)
    chat = Chat(workspace, command.thread_id)
    chat.post(f"Where is my refund? {CANARY}")

    def answer(messages: object) -> object:
        trace.get_tracer("a.provider").start_span("request to the model").end()
        return say("It is pending.")

    agent = agent_with(Script(answer).model)
    with hosting(Hosted(agent, recipe=RECIPE, parameters=lambda session: TASK)):
        chat.run_turn()
    (use,) = ArtifactUse.objects.all()
    for name in ("artifactr.turn", "request to the model"):
        assert of_use(named(spans, name))["artifactr.use.id"] == use.public_id
    assert CANARY not in "".join(each.to_json() for each in spans.get_finished_spans())
