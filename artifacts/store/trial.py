"""A command tried out: what the rules make of it on what is stored now. No lock, and no write."""

from __future__ import annotations

from pydantic_core import from_json

from ..core.commands import AnyCommand
from ..core.errors import Rejection
from ..core.state import CommitResult, State
from .database import database
from .transaction import Refused, Terms, WriteTransaction

KINDS = "SELECT kinds FROM artifactr_workspace WHERE id = %s"


def tried(terms: Terms, command: AnyCommand) -> tuple[State, CommitResult | Rejection]:
    """What was looked at, and what a commit would save or the rejection it would meet.

    The rows are read one after another, perhaps around somebody's commit.
    """
    tx = WriteTransaction(database(), terms)
    for (kinds,) in tx.execute(KINDS, (terms.workspace_pk,)):
        allowed = from_json(kinds) if isinstance(kinds, str) else kinds
        tx.kinds = tx.kinds if allowed is None else frozenset(allowed)
    try:
        tx.decide(command)
    except Refused as refused:
        return tx.state, refused.rejection
    except Rejection as rejection:
        return tx.state, rejection
    return tx.state, tx.results[-1]
