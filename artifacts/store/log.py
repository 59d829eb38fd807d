"""Events at their places in the log: numbered, salted, chained, and written as text only once."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from ..core.actors import Actor
from ..core.events import AnyKnownEvent
from ..core.ids import new_id
from ..core.visibility import SEPARATOR, mentions
from ..extensions import Statement, StoredEvent
from .database import Database

SALT_BYTES = 16

INSERT = """
    INSERT INTO artifactr_event (workspace_id, seq, public_id, type, thread_id, run_id, actor_key,
        artifact_id, mentions, change_set_id, at, text, salt, digest, chain)
    VALUES """
ROW = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
# SQLite takes 32,766 parameters in one statement, older ones 999.
MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where the log of a workspace ends, and what every envelope of one commit shares."""

    workspace_pk: int
    workspace_id: str
    head_seq: int
    head_chain: bytes
    now: datetime
    actor: Actor
    traceparent: str | None
    change_set_id: str | None
    is_shown: bool  # whether envelopes name the change set, which they do for several revisions


def json_text(value: Any) -> str:
    """The JSON of a wire model; null members of data stay, members that are None do not."""
    return to_json(value, exclude_none=True, by_alias=True).decode()


def digest_of(salt: bytes, *texts: str | None) -> bytes:
    """The hash of what a row says; without its salt nobody can guess a text from it."""
    digest = hashlib.sha256(salt)
    for index, text in enumerate(texts):
        digest.update(b"\0" if index else b"")
        digest.update((text or "").encode())
    return digest.digest()


def chained(previous: bytes, seq: int, digest: bytes) -> bytes:
    """The hash that ties an event to all before it."""
    return hashlib.sha256(previous + seq.to_bytes(8, "big") + digest).digest()


def appended(
    db: Database, place: Place, events: Sequence[AnyKnownEvent]
) -> tuple[list[StoredEvent], list[Statement]]:
    """What the events become, and what writes them, in their order."""
    stored = [_stored(place, seq, each) for seq, each in enumerate(events, place.head_seq + 1)]
    rows = list(_rows(db, place, stored))
    parts = [rows[start : start + MOST_ROWS] for start in range(0, len(rows), MOST_ROWS)]
    return stored, [_insert(part) for part in parts]


def artifact_of(event: AnyKnownEvent) -> str | None:
    """The artifact that an event is filed under."""
    target = getattr(event, "target", None)
    return getattr(event, "artifact_id", None) or getattr(target, "artifact_id", None)


def _insert(rows: Sequence[tuple[Any, ...]]) -> Statement:
    return INSERT + ", ".join([ROW] * len(rows)), [value for row in rows for value in row]


def _rows(db: Database, place: Place, events: Sequence[StoredEvent]) -> Iterator[tuple[Any, ...]]:
    chain, at, actor_key = place.head_chain, db.moment(place.now), place.actor.participant
    for event in events:
        salt = secrets.token_bytes(SALT_BYTES)
        digest = digest_of(salt, event.text)
        chain = chained(chain, event.seq, digest)
        yield (
            place.workspace_pk, event.seq, event.id, event.type, event.thread_id, event.run_id,
            actor_key, event.artifact_id, event.mentions, place.change_set_id, at, event.text,
            salt, digest, chain,
        )  # fmt: skip


def _stored(place: Place, seq: int, event: AnyKnownEvent) -> StoredEvent:
    members: dict[str, Any] = {
        "seq": seq,
        "id": new_id("evt"),
        "ts": place.now,
        "workspace_id": place.workspace_id,
        "thread_id": getattr(event, "thread_id", None),
        "run_id": getattr(event, "run_id", None),
        "actor": place.actor,
        "traceparent": place.traceparent,
        "change_set_id": place.change_set_id if place.is_shown else None,
        "event": event,
    }
    return StoredEvent(
        seq=seq,
        id=members["id"],
        type=event.type,
        thread_id=members["thread_id"],
        run_id=members["run_id"],
        artifact_id=artifact_of(event),
        mentions=SEPARATOR.join(mentions(event)),
        at=place.now,
        # The members of an `Envelope`, in its order, without the price of making one.
        text=json_text({name: value for name, value in members.items() if value is not None}),
    )
