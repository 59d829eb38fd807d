"""Spans around the work that matters, by the OpenTelemetry API alone: a host brings the SDK, or
none, and then all of this does nothing.

    with span("artifactr.turn", about(workspace, thread_id=…, run_id=…), parent=traceparent):
        ...
    with untraced():
        look_whether_there_is_work()

`span` is current inside its block, so what others instrument becomes its child. `about` gives the
attributes that every span of ours carries. Attributes are ids, kinds, versions and counts, never
what somebody wrote: no title, text, data, reason, name of a person, nor an error's message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .core.actors import Actor, UserActor
from .core.errors import ArtifactrError


def _version() -> str | None:
    try:
        return version("django-artifactr")
    except PackageNotFoundError:  # run from a folder
        return None


SCOPE, VERSION = "artifactr", _version()
# A span that no parent-based sampler records, and so neither what is started below it.
NOWHERE = 1
NEVER_SAMPLED = trace.NonRecordingSpan(SpanContext(NOWHERE, span_id=1, is_remote=False))

Attributes = Mapping[str, str | int | bool]


class Place(Protocol):
    """A workspace in the hands of an actor."""

    @property
    def id(self) -> str: ...

    @property
    def tenant_id(self) -> str: ...

    @property
    def actor(self) -> Actor: ...


@dataclass(frozen=True, slots=True)
class Trace:
    """The current span: its trace's id, and itself as a W3C `traceparent`."""

    trace_id: str | None = None
    traceparent: str | None = None


UNTRACED = Trace()


def current() -> Trace:
    """The trace that something is done in; what polls lead to belongs to none."""
    found = trace.get_current_span().get_span_context()
    if not found.is_valid or found.trace_id == NOWHERE:
        return UNTRACED
    trace_id = f"{found.trace_id:032x}"
    return Trace(trace_id, f"00-{trace_id}-{found.span_id:016x}-{found.trace_flags:02x}")


def about(
    place: Place, *, thread_id: str | None = None, run_id: str | None = None
) -> dict[str, str]:
    """What every span says: where, by whom and, where there are, in which thread and run."""
    actor = place.actor
    told = {
        "artifactr.tenant.id": place.tenant_id,
        "artifactr.workspace.id": place.id,
        "artifactr.actor.kind": actor.kind,
    }
    if thread_id is not None:
        # A thread is a session and a conversation in the words of those who read traces.
        told |= dict.fromkeys(
            ("artifactr.thread.id", "session.id", "gen_ai.conversation.id"), thread_id
        )
    if run_id is not None:
        told["artifactr.run.id"] = run_id
    if isinstance(actor, UserActor):
        told["user.id"] = actor.id
    return told


@contextmanager
def span(
    name: str,
    attributes: Attributes,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    parent: str | None = None,
) -> Iterator[Span]:
    """A span around the block, below the current one, or below a stored `traceparent`.

    An error is told by its code or class. A rejection is an answer, and no failure of the span.
    """
    tracer = trace.get_tracer(SCOPE, VERSION)
    opened = tracer.start_span(name, _context_of(parent), kind=kind, attributes=attributes)
    before = context.attach(trace.set_span_in_context(opened))
    try:
        yield opened
    except BaseException as error:
        note_error(opened, error)
        raise
    finally:
        context.detach(before)
        opened.end()


def note_error(opened: Span, error: BaseException) -> None:
    """Say on a span what went wrong, without the message, which may quote what was sent."""
    if isinstance(error, ArtifactrError):
        opened.set_attribute("error.type", error.code)
    elif isinstance(error, Exception):
        opened.set_attribute("error.type", type(error).__qualname__)
        opened.set_status(Status(StatusCode.ERROR))


@contextmanager
def untraced() -> Iterator[None]:
    """Nothing inside the block is traced: for what looks again and again and mostly finds nothing.

    So that an idle process exports no span. Tasks begun inside stay untraced.
    """
    with trace.use_span(NEVER_SAMPLED):
        yield


def _context_of(traceparent: str | None) -> context.Context | None:
    if traceparent is None:
        return None
    carrier = {"traceparent": traceparent}
    return TraceContextTextMapPropagator().extract(carrier, context.Context())
