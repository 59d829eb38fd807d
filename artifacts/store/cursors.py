"""How far named consumers of a log have got; a cursor only moves forward, whoever saves it."""

from __future__ import annotations

from .database import database

# A late save of an older number, here or in another process, meets the condition and does nothing.
SAVE = """
    INSERT INTO artifactr_cursor (workspace_id, name, seq) VALUES (%s, %s, %s)
    ON CONFLICT (workspace_id, name) DO UPDATE SET seq = excluded.seq
    WHERE artifactr_cursor.seq < excluded.seq"""


def save(workspace_pk: int, name: str, seq: int) -> None:
    """Move a cursor on to `seq`, or leave it where it is."""
    db = database()
    with db.writing():
        db.one(SAVE, (workspace_pk, name, seq))
