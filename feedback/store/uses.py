"""Writing uses: one INSERT a bind, as what a use should improve is kept once for all that share it.

No statement here locks a workspace. Expired uses are deleted a page at a time, and a target with
its last use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from artifacts.extensions import Statement, Transaction
from artifacts.workspace import Database, database, write_alone
from feedback.core.errors import ArtifactUseNotFound

USES = "artifactr_feedback_artifactuse"
TARGETS = "artifactr_feedback_usetarget"
HEADS = "artifactr_feedback_usetargethead"
SIGNALS = "artifactr_feedback_usesignal"
MESSAGES = "artifactr_feedback_usemessage"

VALUES = ", ".join(["%s"] * 13)
INSERT = f"""
    INSERT INTO {USES} (workspace_id, public_id, recipe_name, recipe_version, definition_hash,
        render_sha256, truncated, snapshot_id, sender, idempotency_key, request_sha256, created_at,
        expires_at, target_id)"""
INSERT_ALONE = f"{INSERT} VALUES ({VALUES}, NULL) ON CONFLICT DO NOTHING"
# The target is held while it is named, so that no purge takes it away in between.
INSERT_ON_TARGET = f"""{INSERT}
    SELECT {VALUES}, id FROM {TARGETS} WHERE workspace_id = %s AND sha256 = %s {{key_share}}
    ON CONFLICT DO NOTHING"""
INSERT_TARGET = f"""
    INSERT INTO {TARGETS} (workspace_id, sha256, text) VALUES (%s, %s, %s)
    ON CONFLICT DO NOTHING RETURNING id"""
INSERT_HEAD = f"INSERT INTO {HEADS} (target_id, record_id) VALUES (%s, %s)"
INSERT_SIGNAL = f"INSERT INTO {SIGNALS} (use_id, record_id) VALUES (%s, %s)"
HOLD = f"SELECT id FROM {USES} WHERE workspace_id = %s AND public_id = %s {{key_share}}"
KEY_SHARE = {"postgresql": "FOR KEY SHARE", "sqlite": ""}

EXPIRED = f"SELECT id, target_id FROM {USES} WHERE {{condition}} LIMIT %s {{skip_locked}}"
FREE_TARGETS = f"SELECT id FROM {TARGETS} WHERE id {{any}} {{skip_locked}}"
UNUSED_TARGETS = f"""
    SELECT t.id FROM {TARGETS} t WHERE t.id {{any}}
    AND NOT EXISTS (SELECT 1 FROM {USES} u WHERE u.target_id = t.id)"""
DELETE = "DELETE FROM {table} WHERE {column} {{any}}"

# A target may be purged between being found and being named.
TRIES = 3
# Where all writers share one lock, a purge gives it back after so many rows.
SHARED_LOCK_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUse:
    """What is kept of a bind; `target` is its learning target as JSON."""

    public_id: str
    recipe: tuple[str, int, str]
    render_sha256: str
    truncated: bool
    sender: str
    created_at: datetime
    expires_at: datetime | None
    snapshot_id: str | None = None
    idempotency_key: str | None = None
    request_sha256: str | None = None
    target: str | None = None
    heads: tuple[str, ...] = ()


def add_use(workspace_pk: int, use: NewUse) -> bool:
    """Keep a use; False where its sender has used its key before."""
    db = database()
    if use.target is None:
        return _insert(db, workspace_pk, use)
    for _ in range(TRIES):
        if _insert(db, workspace_pk, use):
            return True
        _add_target(db, workspace_pk, use)
    return False


@dataclass(slots=True)
class SignalOnUse:
    """What goes with the record of a signal: the use stays until the transaction ends, and its
    signals are listed."""

    use_id: str
    _pk: int = 0

    def asking(self, tx: Transaction) -> Statement:
        """Hold the use against a purge."""
        sql = HOLD.format(key_share=KEY_SHARE[tx.connection.vendor])
        return sql, (tx.workspace_pk, self.use_id)

    def found(self, rows: Sequence[Sequence[Any]]) -> None:
        """It was purged since it was looked at, or is held now."""
        if not rows:
            raise ArtifactUseNotFound(use_id=self.use_id)
        [(self._pk,)] = rows

    def writing(self, record_id: str) -> list[Statement]:
        return [(INSERT_SIGNAL, (self._pk, record_id))]


def rows_at_once() -> int | None:
    """How many rows a purge should delete in one transaction; None where it holds up nobody."""
    return SHARED_LOCK_ROWS if database().connection.vendor == "sqlite" else None


def delete_expired(now: datetime, created_until: datetime | None, most: int) -> int:
    """Delete up to so many uses that ended, or were bound too long ago; how many it was.

    What another purge or a writer holds is left to the next pass.
    """
    db = database()
    condition, params = "expires_at <= %s", [db.moment(now)]
    if created_until is not None:
        condition, params = f"{condition} OR created_at <= %s", [*params, db.moment(created_until)]
    sql = EXPIRED.format(condition=f"({condition})", skip_locked=db.skip_locked)
    with db.writing():
        db.run(db.patience)
        rows = db.one(sql, (*params, most)).rows
        if rows:
            uses = [pk for pk, _ in rows]
            _delete(db, (SIGNALS, "use_id"), (MESSAGES, "use_id"), (USES, "id"), pks=uses)
            _delete_unused(db, {target for _, target in rows if target is not None})
    return len(rows)


def _insert(db: Database, workspace_pk: int, use: NewUse) -> bool:
    values = (
        workspace_pk, use.public_id, *use.recipe, use.render_sha256, use.truncated,
        use.snapshot_id, use.sender, use.idempotency_key, use.request_sha256,
        db.moment(use.created_at), db.moment(use.expires_at),
    )  # fmt: skip
    if use.target is None:
        return write_alone(db, INSERT_ALONE, values).count == 1
    sql = INSERT_ON_TARGET.format(key_share=KEY_SHARE[db.connection.vendor])
    named = (*values, workspace_pk, _sha256(use.target))
    return write_alone(db, sql, named).count == 1


def _add_target(db: Database, workspace_pk: int, use: NewUse) -> None:
    assert use.target is not None
    with db.writing():
        row = (workspace_pk, _sha256(use.target), use.target)
        found = db.one(INSERT_TARGET, row).rows
        if found:
            db.run([(INSERT_HEAD, (found[0][0], record_id)) for record_id in use.heads])


def _delete_unused(db: Database, targets: Iterable[int]) -> None:
    """Held first and looked at then: whoever was about to name one waits, and makes it anew."""
    held = db.one(db.spelled(FREE_TARGETS), (db.array(sorted(targets)),)).rows
    unused = db.one(db.spelled(UNUSED_TARGETS), (db.array([pk for (pk,) in held]),)).rows
    if unused:
        _delete(db, (HEADS, "target_id"), (TARGETS, "id"), pks=[pk for (pk,) in unused])


def _delete(db: Database, *places: tuple[str, str], pks: list[int]) -> None:
    statements = [
        (db.spelled(DELETE.format(table=table, column=column)), (db.array(pks),))
        for table, column in places
    ]
    db.run(statements)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
