"""How an agent is shown an artifact."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from artifacts import core
from artifacts.core.artifact import validated

SHOWN_CHARS = 100_000
FIRST_LINE_CHARS = 80


def shown(artifact: core.Versioned[Any], *, most: int = SHOWN_CHARS) -> str:
    """An artifact as its kind shows it to an agent, with its id and version first."""
    text = _rendered(artifact)
    if len(text) > most:
        text = text[:most] + f"\n… (cut at {most} characters)"
    archived = ", archived" if artifact.archived else ""
    return f"{artifact.id} ({artifact.kind}, version {artifact.version}{archived})\n{text}"


def listed(artifact: core.Versioned[Any]) -> str:
    """The same in one line."""
    first = (_rendered(artifact).strip().splitlines() or ["(empty)"])[0][:FIRST_LINE_CHARS]
    return f"{artifact.id} ({artifact.kind}, version {artifact.version}): {first}"


def _rendered(artifact: core.Versioned[Any]) -> str:
    try:
        return validated(artifact.kind, artifact.data).render_for_agent()
    except core.ValidationFailed:  # written before its kind became stricter, or went away
        return to_json(artifact.data, indent=2).decode()
