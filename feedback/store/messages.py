"""Which use a message was said on, written with the message."""

from __future__ import annotations

from artifacts.extensions import Transaction

# The keys of a run's uses begin with its id; `LIKE` would read the `_` of ids as any character.
LINK = """
    INSERT INTO artifactr_feedback_usemessage (use_id, workspace_id, message_id)
    SELECT id, workspace_id, %s FROM artifactr_feedback_artifactuse
    WHERE workspace_id = %s AND sender = %s AND substr(idempotency_key, 1, %s) = %s
    ORDER BY id DESC LIMIT 1
    ON CONFLICT DO NOTHING"""


def link_message(tx: Transaction, message_id: str, *, sender: str, prefix: str) -> None:
    """Say that a message was said on the last use that `sender` bound under keys of this prefix;
    one of a run without a use is left alone."""
    tx.execute(LINK, (message_id, tx.workspace_pk, sender, len(prefix), prefix))
