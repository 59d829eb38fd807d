"""Which use the work of a block belongs to, on its spans.

`correlated(attributes)` opens a span with a use's attributes and puts them on every span that is
started inside the block, in whatever library. Attributes are ids, names and hashes; none of it goes
into baggage, which would leave the process. Without an OpenTelemetry SDK nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import context, trace

from artifacts import telemetry

SPAN = "artifactr.use"
# In the context, and so with the work wherever it goes on in this process.
KEY = context.create_key("artifactr-use")

Attributes = Mapping[str, str | int]


@contextmanager
def correlated(attributes: Attributes) -> Iterator[None]:
    """A span around the block, and the attributes on each one below it."""
    with marked(attributes), telemetry.span(SPAN, attributes):
        yield


@contextmanager
def marked(attributes: Attributes) -> Iterator[None]:
    """The attributes on every span that is started inside the block."""
    _watch(trace.get_tracer_provider())
    before = context.attach(context.set_value(KEY, dict(attributes)))
    try:
        yield
    finally:
        context.detach(before)


def active(within: context.Context | None = None) -> Attributes:
    """The attributes of the use that work goes on for; none outside of any."""
    found = context.get_value(KEY, within)
    return found if isinstance(found, Mapping) else {}


def _watch(provider: trace.TracerProvider) -> None:
    """Have the SDK's provider, if there is one, ask for them with each span."""
    if hasattr(provider, "add_span_processor"):
        from .spans import add_to  # the SDK is the host's to install

        add_to(provider)
