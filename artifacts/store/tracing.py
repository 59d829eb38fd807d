"""The trace a commit happens in, by the OpenTelemetry API alone: absent where nobody traces."""

from __future__ import annotations

from dataclasses import dataclass

from opentelemetry import trace


@dataclass(frozen=True, slots=True)
class Trace:
    """The current span: its trace's id, and itself as a W3C `traceparent`."""

    trace_id: str | None = None
    traceparent: str | None = None


UNTRACED = Trace()


def current() -> Trace:
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return UNTRACED
    trace_id = f"{context.trace_id:032x}"
    return Trace(trace_id, f"00-{trace_id}-{context.span_id:016x}-{context.trace_flags:02x}")
