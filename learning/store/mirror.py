"""The record of each revision of an addressed artifact, written in the commit's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import to_json

from artifacts.core.artifact import Address
from artifacts.core.state import Revision
from artifacts.extensions import Committed, Transaction
from learning.core.records import content_of, text_of
from learning.selectors.catalog import InForce, collections_in_force

from .citations import cited
from .records import NewRecord, Source, append

REVISIONS = """
    SELECT a.public_id, r.version, r.id
    FROM artifactr_revision r JOIN artifactr_artifact a ON a.id = r.artifact_id
    WHERE a.workspace_id = %s AND r.change_set_id = %s"""


def mirror_revisions(tx: Transaction, committed: Committed) -> None:
    """Participant of every commit; one that writes no addressed artifact costs nothing."""
    addresses = {each.id: each.address for each in committed.result.artifacts if each.address}
    revisions = [each for each in committed.result.revisions if each.artifact_id in addresses]
    if not revisions:
        return
    rows = tx.execute(REVISIONS, (tx.workspace_pk, committed.change_set_id))
    keys = {(artifact_id, version): pk for artifact_id, version, pk in rows}
    in_force = collections_in_force(
        tx.workspace_pk, [address.collection for address in addresses.values()]
    )
    sources = cited(tx, [each.proposal_id for each in revisions])
    append(
        tx,
        [
            _record(
                each,
                addresses[each.artifact_id],
                in_force.get(addresses[each.artifact_id].collection),
                keys[each.artifact_id, each.version],
                sources.get(each.proposal_id or "", ()),
            )
            for each in revisions
        ],
    )


def _record(
    revision: Revision,
    address: Address,
    in_force: InForce | None,
    pk: int,
    sources: Sequence[Source],
) -> NewRecord:
    content = content_of(revision.kind, revision.data)
    return NewRecord(
        collection=address.collection,
        in_force=in_force,
        entity=address.entity,
        key=address.key,
        type=address.type,
        actor=to_json(revision.actor.wire()).decode(),
        text=text_of(revision.kind, revision.data),
        content=content,
        content_text=to_json(content).decode(),
        artifact_id=revision.artifact_id,
        revision_pk=pk,
        archived=revision.archived,
        sources=sources,
    )
