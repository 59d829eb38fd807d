"""Feedback on a use, and the record in `learning_signals` that it becomes.

The record's text is what a derivation reads, so equal feedback always gives equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints

from artifacts.core.values import FilledText, Text, Value

COLLECTION = "learning_signals"
TEXT_CHARS = 4_096
MOST_REFS = 8

Kind: TypeAlias = Literal[
    "thumbs_up",
    "thumbs_down",
    "correction",
    "task_success",
    "task_failure",
    "exception",
    "evaluation",
]
Source: TypeAlias = Literal["end_user", "operator", "evaluator", "application"]


def _stripped(text: str | None) -> str | None:
    return (text.strip() or None) if text is not None else None


def _positive_zero(score: float) -> float:
    return score + 0.0


Score = Annotated[
    float,
    Field(ge=0, le=1, strict=True, allow_inf_nan=False),
    AfterValidator(_positive_zero),
]
Evidence = Annotated[Text | None, AfterValidator(_stripped)]


class ExecutionRef(Value):
    """A pointer into somebody else's trace store: kept as given, never followed, no evidence."""

    system: Annotated[FilledText, StringConstraints(max_length=64)]
    id: Annotated[FilledText, StringConstraints(max_length=256)]
    url: Annotated[FilledText, StringConstraints(max_length=1_024)] | None = None


class Signal(Value):
    """What came of a use, and who says so. No source counts for more than another."""

    kind: Kind
    source: Source
    score: Score | None = None
    label: Annotated[FilledText, StringConstraints(max_length=128)] | None = None
    comment: Evidence = None
    expected: Evidence = None
    actual_excerpt: Evidence = None
    execution_refs: Annotated[tuple[ExecutionRef, ...], Field(max_length=MOST_REFS)] = ()

    def cut(self, bounds: Bounds) -> Signal:
        """The same with no more evidence than is kept."""
        return self.model_copy(
            update={
                "comment": _cut(self.comment, bounds.comment_chars),
                "expected": _cut(self.expected, bounds.evidence_chars),
                "actual_excerpt": _cut(self.actual_excerpt, bounds.evidence_chars),
            }
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is kept of what is written freely."""

    comment_chars: int
    evidence_chars: int


@dataclass(frozen=True, slots=True)
class UseIdentity:
    """What a use says of itself in every signal on it."""

    id: str
    artifact: Mapping[str, Any]
    render_sha256: str
    snapshot_id: str | None
    learning_target: Mapping[str, Any] | None

    @property
    def entity(self) -> str:
        """Whose backlog a signal joins: the recipe to improve, or else the one that rendered."""
        recipe = self.learning_target["artifact"] if self.learning_target else self.artifact
        return f"artifact:{recipe['name']}"

    def wire(self) -> dict[str, Any]:
        """Here null is a claim: there is no snapshot, no target was resolved."""
        return {
            "id": self.id,
            "artifact": dict(self.artifact),
            "render_sha256": self.render_sha256,
            "snapshot_id": self.snapshot_id,
            "learning_target": self.learning_target,
        }


def signal_content(use: UseIdentity, signal: Signal) -> dict[str, Any]:
    """The record's content. What was not said is left out, so that each declared field that is
    there holds a value."""
    content: dict[str, Any] = {
        "text": signal_text(use, signal),
        "artifact_use": use.wire(),
        "signal": _present(signal, "kind", "source", "score", "label"),
        "evidence": _present(signal, "comment", "expected", "actual_excerpt"),
    }
    if signal.execution_refs:
        content["execution_refs"] = [each.wire() for each in signal.execution_refs]
    return content


def signal_text(use: UseIdentity, signal: Signal) -> str:
    """Who says what of which recipe, then a line for each piece of evidence."""
    artifact = use.artifact
    header = f"{signal.kind} from {signal.source} on {artifact['name']}@{artifact['version']}"
    if signal.label is not None:
        header += f" [{_line(signal.label)}]"
    if signal.score is not None:
        header += f" score={signal.score}"
    evidence = (
        ("comment", signal.comment),
        ("expected", signal.expected),
        ("actual", signal.actual_excerpt),
    )
    lines = [f"{name}: {_line(text)}" for name, text in evidence if text]
    return "\n".join([header, *lines])[:TEXT_CHARS]


def _present(signal: Signal, *names: str) -> dict[str, Any]:
    values = {name: getattr(signal, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _cut(text: str | None, chars: int) -> str | None:
    return None if text is None else text[:chars]


def _line(text: str) -> str:
    """On one line, so that no evidence looks like another piece of it."""
    return " ".join(text.splitlines())
