"""Every call as a value: what is sent, whether it may be sent twice, and how its answer is read."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from feedback.bound import BoundArtifact
from feedback.fluent import Ingested, Parameters, RecordFields, Submitted, said

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call, its path below the workspace. A repeatable one does the same when sent twice."""

    method: str
    path: str
    read: Callable[[Any], T]
    is_repeatable: bool
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def bind(name: str, parameters: Parameters, *, snapshot: bool) -> Call[BoundArtifact]:
    """Bind a recipe, under a key of its own, so that a lost answer costs no second use."""
    return Call(
        "POST",
        f"catalog/artifacts/{part(name)}/uses/",
        BoundArtifact.of,
        is_repeatable=True,
        body={"parameters": dict(parameters), "snapshot": snapshot},
        headers={"Idempotency-Key": secrets.token_hex(16)},
    )


def submit(use_id: str, feedback: Mapping[str, Any]) -> Call[Submitted]:
    """Say what came of a use. Without a dedupe key, twice said is said twice."""
    return Call(
        "POST",
        f"artifact-uses/{part(use_id)}/feedback/",
        _submitted,
        is_repeatable="dedupe_key" in feedback,
        body=feedback,
    )


def ingest(records: Sequence[RecordFields]) -> Call[list[Ingested]]:
    """Keep records, all or none."""
    sent = [said(each) for each in records]
    return Call(
        "POST",
        "records/",
        _ingested,
        is_repeatable=all("dedupe_key" in each for each in sent),
        body={"records": sent},
    )


def record(record_id: str) -> Call[dict[str, Any]]:
    return Call("GET", f"records/{part(record_id)}/", dict, is_repeatable=True)


def _submitted(answer: Any) -> Submitted:
    return {**answer, "record_id": answer["record_id"], "duplicate": bool(answer["duplicate"])}


def _ingested(answer: Any) -> list[Ingested]:
    return list(answer["results"])


def part(text: str) -> str:
    """A name or id as one part of a path; what would lead out of its place is neither."""
    if text in ("", ".", "..") or "/" in text:
        raise ValueError(f"{text!r} is no name of anything")
    return quote(text, safe="")
