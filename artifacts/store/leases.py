"""Claims for a time, by conditional statements on the database's clock.

Two processes that race for one cannot both win. The token rises with each taking and fences every
write of its holder: a lapsed holder's commit fails on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ..core.errors import InvalidState
from ..extensions import Statement
from .database import Database, database

TAKE = """
    UPDATE artifactr_lease SET holder = %s, token = token + 1, expires_at = {now}
    WHERE workspace_id = %s AND key = %s AND expires_at <= {now}"""
FIRST = """
    INSERT INTO artifactr_lease (workspace_id, key, holder, token, expires_at)
    VALUES (%s, %s, %s, 1, {now}) ON CONFLICT (workspace_id, key) DO NOTHING"""
GIVEN = "SELECT token FROM artifactr_lease WHERE workspace_id = %s AND key = %s"
# Ending is letting it expire: the row stays, so that the token goes on rising.
UNTIL = """
    UPDATE artifactr_lease SET expires_at = {now}
    WHERE workspace_id = %s AND key = %s AND token = %s AND expires_at > {now}"""
# Locked for share: whoever takes the claim over waits until this holder's write is through.
CHECK = """
    SELECT 1 FROM artifactr_lease
    WHERE workspace_id = %s AND key = %s AND token = %s AND expires_at > {now} {share}"""


class LeaseLost(InvalidState):
    """The claim of this writer was lost; nothing was written."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A taken claim: every write that carries it fails once the claim has lapsed."""

    key: str
    token: int


def acquire(workspace_pk: int, key: str, holder: str, ttl_seconds: float) -> Fence | None:
    """Take a claim that nobody holds, or None."""
    db = database()
    ttl = timedelta(seconds=ttl_seconds)
    with db.writing():
        taken = db.one(db.spelled(TAKE), (holder, db.present(ttl), workspace_pk, key, db.present()))
        if not taken.count:
            row = (workspace_pk, key, holder, db.present(ttl))
            if not db.one(db.spelled(FIRST), row).count:
                return None
        # The row is ours until COMMIT, so this is the token just given.
        token: int = db.one(GIVEN, (workspace_pk, key)).rows[0][0]
        return Fence(key, token)


def renew(workspace_pk: int, fence: Fence, ttl_seconds: float) -> bool:
    """Hold on for another while; False once it has lapsed or was taken over."""
    return _set_end(workspace_pk, fence, timedelta(seconds=ttl_seconds))


def release(workspace_pk: int, fence: Fence) -> None:
    """Let go; a claim that is not held any more stays as it is."""
    _set_end(workspace_pk, fence, timedelta())


def check(db: Database, workspace_pk: int, fence: Fence) -> Statement:
    """The statement that gives a row while the claim is held."""
    return db.spelled(CHECK), (workspace_pk, fence.key, fence.token, db.present())


def _set_end(workspace_pk: int, fence: Fence, ttl: timedelta) -> bool:
    db = database()
    params = (db.present(ttl), workspace_pk, fence.key, fence.token, db.present())
    with db.writing():
        return db.one(db.spelled(UNTIL), params).count == 1
