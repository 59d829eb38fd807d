"""Traces of the site, turned on by OpenTelemetry's own variables; without them nothing is imported.

OTEL_EXPORTER_OTLP_ENDPOINT (or its …_TRACES_… form) sends spans there, OTEL_TRACES_EXPORTER=console
prints them. OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER mean what they
always do. A host's own project sets up its SDK as it likes: the apps only use the API.
"""

from __future__ import annotations

import os
from typing import Any

from django.core.exceptions import ImproperlyConfigured

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def set_up() -> bool:
    """Once for each process that serves or works, before its application is built."""
    exporter = chosen()
    if exporter == "none":
        return False
    try:
        _provide(exporter)
    except ImportError as error:
        raise ImproperlyConfigured("tracing needs the extra `opentelemetry`") from error
    return True


def chosen() -> str:
    """The exporter the variables ask for; a typing error is no reason to trace nothing."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return "none"
    asked = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    name = asked or ("otlp" if any(map(os.environ.get, ENDPOINTS)) else "none")
    if name not in ("otlp", "console", "none"):
        raise ImproperlyConfigured("OTEL_TRACES_EXPORTER must be otlp, console or none")
    return name


def _provide(exporter: str) -> None:
    from opentelemetry import trace
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(_exporter(exporter)))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument()


def _exporter(name: str) -> Any:
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()
