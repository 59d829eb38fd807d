"""What a host's OpenTelemetry SDK would export of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Spans:
    """The spans that have ended, in that order."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def names(self) -> list[str]:
        return [span.name for span in self.all]

    def one(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.all if span.name == name]
        return found

    def attributes(self, name: str) -> dict[str, Any]:
        return dict(self.one(name).attributes or {})

    def clear(self) -> None:
        self._exporter.clear()


@contextmanager
def recorded() -> Iterator[Spans]:
    """Spans of this process are kept while the block lasts."""
    spans = Spans()
    # The provider of a process can be set once; a test's must go again.
    with patch.object(trace, "_TRACER_PROVIDER", spans.provider):
        yield spans


def traceparent_of(span: ReadableSpan) -> str:
    context = span.get_span_context()
    assert context is not None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def told(span: ReadableSpan) -> str:
    """Everything a span says, as one text."""
    links = [dict(link.attributes or {}) for link in span.links]
    events = [(event.name, dict(event.attributes or {})) for event in span.events]
    context = span.get_span_context()
    state = None if context is None else dict(context.trace_state)
    return repr(
        (span.name, dict(span.attributes or {}), events, links, span.status.description, state)
    )
