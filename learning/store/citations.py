"""What proposed values were derived from: kept beside the proposal until a record can say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from artifacts.core.commands import RespondToProposal
from artifacts.extensions import Committed, Transaction
from learning.models import ProposalSource

from .records import Source
from .rows import among, insert

COLUMNS = ("workspace_id", "proposal_id", "position", "source_id", "revision_id")
CITED = """
    SELECT proposal_id, source_id, revision_id FROM artifactr_learning_proposalsource
    WHERE workspace_id = %s AND proposal_id IN """
COPY = """
    INSERT INTO artifactr_learning_proposalsource
        (workspace_id, proposal_id, position, source_id, revision_id)
    SELECT workspace_id, %s, position, source_id, revision_id
    FROM artifactr_learning_proposalsource WHERE workspace_id = %s AND proposal_id = %s"""


def cite(tx: Transaction, proposal_id: str, sources: Sequence[Source]) -> None:
    """Keep what a proposal that was just made rests on."""
    rows = [(tx.workspace_pk, proposal_id, place, *each) for place, each in enumerate(sources)]
    insert(tx, ProposalSource, COLUMNS, rows)


def cited(tx: Transaction, proposal_ids: Iterable[str | None]) -> dict[str, list[Source]]:
    """What these proposals rest on, in the order it was said."""
    ids = sorted({id for id in proposal_ids if id is not None})
    found: dict[str, list[Source]] = {}
    if ids:
        sql = f"{CITED}{among(ids)} ORDER BY proposal_id, position"
        for id, source, revision in tx.execute(sql, (tx.workspace_pk, *ids)):
            found.setdefault(id, []).append((source, revision))
    return found


def keep_with_remainder(tx: Transaction, committed: Committed) -> None:
    """Participant of every commit: what a reviewer left over rests on what the whole did."""
    for item in committed.items:
        if isinstance(item, RespondToProposal) and item.remainder == "keep":
            tx.execute(COPY, (item.remainder_proposal_id, tx.workspace_pk, item.proposal_id))
