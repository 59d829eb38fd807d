"""Spans of the door: around each command, with ids and kinds, and nothing that anybody wrote."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from opentelemetry import trace

from artifacts import models, telemetry
from artifacts.core import (
    AgentActor,
    CreateArtifact,
    CreateThread,
    NotFound,
    Rejection,
    SystemActor,
    actor_adapter,
    command_adapter,
)
from artifacts.workspace import open_workspace
from tests.artifacts.test_api_conformance import COMMANDS, configured
from tests.support.builders import edit_text, make_artifact
from tests.support.cast import ANA, Cast
from tests.support.conformance import Case
from tests.support.seeding import seed
from tests.support.spans import Spans, recorded, told, traceparent_of

CANARY = "canary 4711"


@pytest.fixture
def spans() -> Iterator[Spans]:
    with recorded() as found:
        yield found


def test_a_command_has_a_span_and_its_events_name_it(cast: Cast, spans: Spans) -> None:
    with trace.get_tracer("a host").start_as_current_span("request"):
        make_artifact(cast.ana, artifact_id="art_1")
    command, request = spans.one("artifactr.command"), spans.one("request")
    assert dict(command.attributes or {}) == {
        "artifactr.tenant.id": cast.ana.tenant_id,
        "artifactr.workspace.id": cast.ana.id,
        "artifactr.actor.kind": "user",
        "user.id": ANA.id,
        "artifactr.command.type": "create_artifact",
    }
    assert command.parent == request.get_span_context()
    scope = command.instrumentation_scope
    assert scope is not None
    assert (scope.name, command.status.status_code.name) == ("artifactr", "UNSET")
    [envelope] = cast.ana.read()
    assert envelope.traceparent == traceparent_of(command)
    assert f"-{cast.ana.revision('art_1', 1).trace_id}-" in traceparent_of(command)


def test_a_thread_is_a_session_and_an_agent_no_user(cast: Cast, spans: Spans) -> None:
    cast.ana.commit(CreateThread(thread_id="thr_1", title="t"))
    agent = AgentActor(thread_id="thr_1", run_id="run_1", on_behalf_of=ANA)
    spans.clear()
    cast.ana.as_actor(agent).commit(CreateArtifact(kind="paper"))
    attributes = spans.attributes("artifactr.command")
    thread = ("artifactr.thread.id", "session.id", "gen_ai.conversation.id")
    assert {attributes.pop(name) for name in thread} == {"thr_1"}
    assert attributes == {
        "artifactr.tenant.id": cast.ana.tenant_id,
        "artifactr.workspace.id": cast.ana.id,
        "artifactr.actor.kind": "agent",
        "artifactr.run.id": "run_1",
        "artifactr.command.type": "create_artifact",
    }


def test_batches_and_transactions_have_one_each(cast: Cast, spans: Spans) -> None:
    cast.ana.commit_all([CreateArtifact(kind="paper") for _ in range(2)])
    assert spans.attributes("artifactr.batch")["artifactr.batch.size"] == 2
    with cast.ana.transaction() as tx:
        tx.commit(CreateArtifact(kind="paper"))
    assert spans.names() == ["artifactr.batch", "artifactr.transaction"]
    assert cast.ana.read()[-1].traceparent == traceparent_of(spans.one("artifactr.transaction"))


def test_a_rejection_is_an_answer_and_a_failure_a_failure(cast: Cast, spans: Spans) -> None:
    with pytest.raises(NotFound):
        cast.ana.commit(edit_text("art_none", 1, CANARY, "x"))
    refused = spans.one("artifactr.command")
    assert (refused.attributes or {})["error.type"] == "not_found"
    assert refused.status.status_code.name == "UNSET"
    spans.clear()

    def fail(tx: Any) -> None:
        raise LookupError(CANARY)

    with pytest.raises(LookupError):
        cast.ana.commit(CreateArtifact(kind="paper"), also=[fail])
    failed = spans.one("artifactr.command")
    assert (failed.attributes or {})["error.type"] == "LookupError"
    assert failed.status.status_code.name == "ERROR"
    assert CANARY not in told(failed)


def test_a_twin_carries_the_callers_span_into_its_thread(cast: Cast, spans: Spans) -> None:
    async def go() -> None:
        with trace.get_tracer("a host").start_as_current_span("request"):
            await cast.ana.acommit(CreateArtifact(kind="paper"))

    asyncio.run(go())
    assert spans.one("artifactr.command").parent == spans.one("request").get_span_context()


def test_a_stored_traceparent_can_be_gone_on_from(spans: Spans) -> None:
    with telemetry.span("first", {}):
        stored = telemetry.current().traceparent
    assert stored is not None
    with telemetry.span("second", {}, parent=stored), telemetry.span("inside", {}):
        pass
    with telemetry.span("unreadable", {}, parent="00-nonsense"):
        pass
    first, second, inside = map(spans.one, ("first", "second", "inside"))
    assert second.parent is not None
    assert second.parent.span_id == first.get_span_context().span_id  # type: ignore[union-attr]
    assert inside.parent == second.get_span_context()
    assert spans.one("unreadable").parent is None
    assert telemetry.current() == telemetry.UNTRACED


def test_polls_are_untraced_and_what_they_find_is_not(cast: Cast, spans: Spans) -> None:
    tracer = trace.get_tracer("a driver")

    def traced(execute: Any, *arguments: Any) -> Any:
        with tracer.start_as_current_span("statement"):
            return execute(*arguments)

    make_artifact(cast.ana)
    spans.clear()
    with connection.execute_wrapper(traced):
        following = cast.ana.follow()
        for _ in itertools.islice(following, 1):
            with tracer.start_as_current_span("work"):
                pass
        following.close()  # type: ignore[attr-defined]
        assert spans.names() == ["work"]
        cast.ana.read()
    assert "statement" in spans.names(), "the control: reads outside a poll are traced"
    with telemetry.untraced():
        make_artifact(cast.ana)
        assert telemetry.current() == telemetry.UNTRACED
    assert cast.ana.read()[-1].traceparent is None


def test_without_an_sdk_nothing_is_said(cast: Cast) -> None:
    make_artifact(cast.ana)
    assert cast.ana.read()[0].traceparent is None


# The canary

# Members whose values are ids and words of the protocol, not what somebody wrote.
NAMING = {
    "type",
    "kind",
    "op",
    "path",
    "from",
    "field",
    "decision",
    "mode",
    "feedback_type",
    "agent",
}


def with_canary(value: Any, name: str = "") -> Any:
    """A command in which every text that people or agents write holds the canary."""
    if isinstance(value, dict):
        return {key: with_canary(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [with_canary(each, name) for each in value]
    is_named = name in NAMING or name.endswith(("_id", "_ids", "_sha256"))
    if not isinstance(value, str) or is_named:
        return value
    return f"{CANARY} {value}"


def sent(case: Case) -> bool:
    """Whether a case's command was carried out, so that the log holds the canary."""
    tenant = models.Tenant.objects.create(name="t")
    row = models.Workspace.objects.create(tenant=tenant, name=CANARY)
    seed(row, case.entities)
    actor = actor_adapter.validate_python({**case.raw["actor"]})
    if "name" in type(actor).model_fields and not isinstance(actor, SystemActor):
        actor = actor.model_copy(update={"name": CANARY})
    inside = open_workspace(row.public_id, actor=actor)
    try:
        command = command_adapter.validate_python(with_canary(case.raw["command"]))
    except ValueError:
        return False
    try:
        with configured(case):
            inside.commit(command, command_id=CANARY)
    except Rejection:
        return False
    return CANARY in "".join(inside.read_text())


@pytest.mark.django_db
def test_no_span_says_what_was_written(spans: Spans) -> None:
    done = [case.raw["command"]["type"] for case in COMMANDS if sent(case)]
    types = {case.raw["command"].get("type") for case in COMMANDS}
    carried = {each for each in types if done.count(each)}
    assert len(done) > 50
    assert {"create_artifact", "propose_change", "post_message", "create_thread"} <= carried
    assert {"give_feedback", "answer_deferred", "respond_to_proposal"} <= carried
    assert len(spans.all) > len(done)
    leaks = [told(span) for span in spans.all if CANARY in told(span)]
    assert not leaks


def test_a_leak_would_be_seen(spans: Spans) -> None:
    """The control: wherever a span may hold text, `told` has it."""
    with telemetry.span("artifactr.command", {"title": CANARY}):
        pass
    with telemetry.span("artifactr.command", {}) as opened:
        opened.add_event(CANARY)
    with telemetry.span(CANARY, {}) as opened:
        opened.add_event("x", {"y": CANARY})
    with telemetry.span("artifactr.command", {}) as opened:
        opened.set_status(trace.StatusCode.ERROR, CANARY)
    assert all(CANARY in told(span) for span in spans.all)
    assert json.dumps(with_canary({"title": "t", "thread_id": "t"})).count(CANARY) == 1
