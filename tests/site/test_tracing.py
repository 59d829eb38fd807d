"""OpenTelemetry's own variables turn traces on, and without them nothing of it is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from artifactr_site import tracing
from tests.architecture.source import ROOT

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("variables", "exporter"),
    [
        ({}, "none"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console"),
        ({"OTEL_TRACES_EXPORTER": " OTLP "}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, "otlp"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost", "OTEL_TRACES_EXPORTER": "none"},
            "none",
        ),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"}, "none"),
    ],
)
def test_the_variables_choose(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], exporter: str
) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert tracing.chosen() == exporter


def test_an_unknown_exporter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "consol")
    with pytest.raises(ImproperlyConfigured, match="OTEL_TRACES_EXPORTER"):
        tracing.set_up()


def loaded(folder: Path, **variables: str) -> set[str]:
    """Which parts of OpenTelemetry a serving process imports."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    program = "import artifactr_site.asgi, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={
            **kept,
            "DJANGO_SETTINGS_MODULE": "artifactr_site.settings",
            "ARTIFACTR_STATE_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{folder / 'none.sqlite3'}",
            **variables,
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    parts = ("opentelemetry.sdk.trace", "opentelemetry.instrumentation.django")
    return {each for each in done.stdout.split() if each in parts}


def test_nothing_is_imported_without_a_variable(tmp_path: Path) -> None:
    assert loaded(tmp_path) == set()
    assert len(loaded(tmp_path, OTEL_TRACES_EXPORTER="console")) == 2
