"""The first result of a command id, given again to whoever sent it, in any process.

Written in the command's own transaction. While the first attempt still runs, PostgreSQL's advisory
lock says so at once; on SQLite the write lock makes the repeat wait for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic_core import from_json, to_json

from .. import clock
from ..core.actors import Actor
from ..core.errors import NotFound, Rejection, Unavailable, ValidationFailed
from ..core.outcomes import AnyOutcome, outcome_adapter
from ..extensions import Statement
from .database import database

SELECT = """
    SELECT body_sha256, result, last_seq FROM artifactr_commandreceipt
    WHERE workspace_id = %s AND participant = %s AND command_id = %s"""
INSERT = """
    INSERT INTO artifactr_commandreceipt (workspace_id, participant, command_id, body_sha256,
        result, last_seq, created_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s)"""
PURGE = """
    DELETE FROM artifactr_commandreceipt WHERE id IN (
        SELECT id FROM artifactr_commandreceipt WHERE created_at < %s
        ORDER BY created_at LIMIT %s {skip_locked})"""


class CommandRunning(Unavailable):
    """The first attempt at this command is still being carried out."""

    code = "command_running"


@dataclass(frozen=True, slots=True)
class Done:
    """What a commit answers: one outcome per item."""

    outcomes: tuple[AnyOutcome, ...]
    change_set_id: str | None
    last_seq: int

    def as_json(self) -> str:
        outcomes = [outcome.wire() for outcome in self.outcomes]
        return to_json({"outcomes": outcomes, "change_set_id": self.change_set_id}).decode()


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends which command, with the hash of the request's body where the surface checks it."""

    workspace_pk: int
    actor: Actor
    command_id: str
    body_sha256: str

    @property
    def key(self) -> tuple[int, str, str]:
        return self.workspace_pk, self.actor.participant, self.command_id

    @property
    def lock_key(self) -> int:
        """The advisory lock of this sender's command: 64 bits of a hash, signed."""
        name = "\0".join(str(part) for part in self.key)
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)

    def receipt(self, result: str, *, last_seq: int, at: Any) -> Statement:
        return INSERT, (*self.key, self.body_sha256, result, last_seq, at)

    def repeated(self, rows: list[tuple[Any, ...]]) -> Done | None:
        """The first result, returned or raised, if there is one."""
        if not rows:
            return None
        body_sha256, result, last_seq = rows[0]
        if self.body_sha256 and body_sha256 and self.body_sha256 != body_sha256:
            raise ValidationFailed.at(
                ["Idempotency-Key"], "was already used with another body", "reused"
            )
        return _remembered(from_json(result), last_seq)


def rejection_text(rejection: Rejection) -> str:
    """A rejection as a receipt keeps it."""
    return to_json({"rejection": rejection.payload(), "index": rejection.index}).decode()


def purge_receipts(days: int, page: int = 1_000) -> int:
    """Forget one page of results older than `days`; the number forgotten, 0 when all are."""
    db = database()
    before = db.moment(clock.now() - timedelta(days=days))
    with db.writing():
        return db.one(db.spelled(PURGE), (before, page)).count


def _remembered(result: dict[str, Any], last_seq: int) -> Done:
    if "rejection" in result:
        raise _rejection_from(result["rejection"], result["index"])
    outcomes = tuple(outcome_adapter.validate_python(each) for each in result["outcomes"])
    return Done(outcomes, result["change_set_id"], last_seq)


def _rejection_from(payload: dict[str, Any], index: int | None) -> Rejection:
    details = {name: value for name, value in payload.items() if name not in ("type", "message")}
    cls = next(cls for cls in _concrete(Rejection) if cls.code == payload["type"])
    # A rejection is made from its message and the members of its `data`; one takes ids alone.
    made = cls(**details) if cls is NotFound else cls(payload["message"], **details)
    return numbered(made, index)


def numbered(rejection: Rejection, index: int | None) -> Rejection:
    """Say which item of a batch was refused."""
    if index is not None:
        rejection.index = index
    return rejection


def _concrete(cls: type[Rejection]) -> Iterator[type[Rejection]]:
    for child in cls.__subclasses__():
        if not child.is_abstract:
            yield child
        yield from _concrete(child)
