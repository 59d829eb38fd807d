"""The span processor that writes a use's attributes; for hosts that have OpenTelemetry's SDK."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor

from .telemetry import active

_lock = threading.Lock()
_watched: weakref.WeakSet[Any] = weakref.WeakSet()


class UseAttributes(SpanProcessor):
    """Puts the attributes of the use that is active in a span's context on the span."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if attributes := active(parent_context):
            span.set_attributes(dict(attributes))


def add_to(provider: Any) -> None:
    """Add the processor to a tracer provider that has none yet."""
    if provider in _watched:
        return
    with _lock:
        if provider not in _watched:
            provider.add_span_processor(UseAttributes())
            _watched.add(provider)
