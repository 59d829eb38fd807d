"""Taking records in: each is checked against the collection in force, events are appended, keyed
values go through the write path; all in one transaction or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from artifacts.core.artifact import Address
from artifacts.core.commands import PutArtifact
from artifacts.core.errors import Rejection, ValidationFailed
from artifacts.core.ids import address_id
from artifacts.core.outcomes import Applied, Proposed
from artifacts.core.visibility import Hidden
from artifacts.extensions import Committed, Transaction
from artifacts.workspace import WriteTransaction
from learning.core.errors import RequestSchema
from learning.core.records import MAINTAINED_VALUE, RecordInput, content_problems, kind_of
from learning.selectors.catalog import InForce, collections_in_force

from .dedupe import Dedupe, Taken
from .records import NewRecord, Source, append, link
from .rows import among, parts

IN_ONE = 500
RECORD_SOURCES = """
    SELECT public_id, artifact_id, id FROM artifactr_learning_record
    WHERE workspace_id = %s AND public_id IN """
REVISION_SOURCES = """
    SELECT r.public_id, a.public_id, r.id
    FROM artifactr_revision r JOIN artifactr_artifact a ON a.id = r.artifact_id
    WHERE a.workspace_id = %s AND r.public_id IN """
VERSIONS = """
    SELECT public_id, version FROM artifactr_artifact WHERE workspace_id = %s AND public_id IN """
MIRRORED = """
    SELECT c.artifact_id, v.version, c.public_id, c.id, c.seq
    FROM artifactr_learning_record c JOIN artifactr_revision v ON v.id = c.revision_id
    WHERE c.workspace_id = %s AND v.change_set_id = %s"""

Sources = Mapping[int, Sequence[Source]]


@dataclass(frozen=True, slots=True)
class Terms:
    """How a batch is taken in: `namespace` keeps its dedupe keys apart, `hidden` is what its sender
    may not cite, and `as_records` keeps keyed ones as plain records, without an artifact."""

    namespace: str
    hidden: Hidden
    as_records: bool = False


def take_in(tx: WriteTransaction, records: Sequence[RecordInput], terms: Terms) -> list[Taken]:
    """What becomes of each; keyed ones are told when the transaction has been saved."""
    dedupe = Dedupe(tx, records, terms.namespace)
    fresh = dedupe.fresh()
    in_force = collections_in_force(tx.workspace_pk, [records[index].collection for index in fresh])
    for index in fresh:
        _check(index, records[index], in_force, terms)
    sources = _sources(tx, fresh, records, terms.hidden)
    keyed = [i for i in fresh if records[i].key is not None and not terms.as_records]
    events = [index for index in fresh if index not in set(keyed)]
    _append(tx, events, records, in_force, sources, dedupe)
    if keyed:
        _Puts(tx, records, in_force, sources, dedupe).write(keyed, events)
    else:
        dedupe.remember(events)
    return dedupe.taken


def _check(index: int, record: RecordInput, in_force: Mapping[str, InForce], terms: Terms) -> None:
    found = in_force.get(record.collection)
    if found is None:
        raise _wrong(index, "collection", "is not declared in this workspace's catalog")
    collection = found.definition
    if collection.mode == "event":
        if record.key is not None:
            raise _wrong(index, "key", "belongs to a keyed collection; this one holds events")
        if record.type is None:
            raise _wrong(index, "type", "is required in a collection of events")
    elif record.key is None:
        raise _wrong(index, "key", "is required in a keyed collection")
    elif kind_of(collection) != MAINTAINED_VALUE and record.text and not terms.as_records:
        raise _wrong(index, "text", f"belongs to the kind {MAINTAINED_VALUE!r} alone")
    if problems := content_problems(collection, record.content, "records", index, "content"):
        where = ".".join(str(part) for part in problems[0]["loc"])
        raise RequestSchema(f"{where}: {problems[0]['msg']}", errors=problems)


def _wrong(index: int, member: str, message: str) -> RequestSchema:
    return RequestSchema.of(ValidationFailed.at([member], message), "records", index)


def _sources(
    tx: Transaction, fresh: Sequence[int], records: Sequence[RecordInput], hidden: Hidden
) -> dict[int, list[Source]]:
    """The keys of what each record cites: records and revisions of this workspace."""
    found = _found(tx, sorted({id for i in fresh for id in records[i].derived_from}), hidden)
    sources: dict[int, list[Source]] = {}
    for index in fresh:
        for place, id in enumerate(records[index].derived_from):
            if id not in found:
                problem = ValidationFailed.at([place], "names no record or revision here")
                raise RequestSchema.of(problem, "records", index, "derived_from")
            sources.setdefault(index, []).append(found[id])
    return sources


def _found(tx: Transaction, cited: Sequence[str], hidden: Hidden) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for part in parts(cited, IN_ONE):
        params = (tx.workspace_pk, *part)
        for id, artifact_id, pk in tx.execute(RECORD_SOURCES + among(part), params):
            if artifact_id not in hidden.artifacts:
                found[id] = (pk, None)
        for id, artifact_id, pk in tx.execute(REVISION_SOURCES + among(part), params):
            if artifact_id not in hidden.artifacts:
                found[id] = (None, pk)
    return found


def _append(
    tx: Transaction,
    indexes: Sequence[int],
    records: Sequence[RecordInput],
    in_force: Mapping[str, InForce],
    sources: Sources,
    dedupe: Dedupe,
) -> None:
    actor = to_json(tx.actor.wire()).decode()
    new = [
        NewRecord(
            collection=records[index].collection,
            in_force=in_force[records[index].collection],
            entity=records[index].entity,
            key=records[index].key,
            type=records[index].type,
            text=records[index].text,
            content=records[index].content,
            content_text=to_json(records[index].content).decode(),
            actor=actor,
            sources=sources.get(index, ()),
        )
        for index in indexes
    ]
    for index, (pk, seq, record) in zip(indexes, append(tx, new), strict=True):
        dedupe.taken[index] = Taken(record.public_id, pk, seq)


@dataclass(slots=True)
class _Puts:
    """The keyed values of a batch, on their way through the write path."""

    tx: WriteTransaction
    records: Sequence[RecordInput]
    in_force: Mapping[str, InForce]
    sources: Sources
    dedupe: Dedupe

    def write(self, keyed: Sequence[int], events: Sequence[int]) -> None:
        """Put each on the version in force; the rest is said once all of it is saved."""
        ids = [self._address_id(self.records[index]) for index in keyed]
        versions = self._versions(sorted(set(ids)))
        written: dict[int, tuple[str, int]] = {}
        for index, id in zip(keyed, ids, strict=True):
            outcome = self._put(index, versions.get(id, 0))
            if isinstance(outcome, Applied):
                versions[id] = outcome.version
                written[index] = (id, outcome.version)
            elif isinstance(outcome, Proposed):
                self.dedupe.taken[index].proposal_id = outcome.proposal_id

        def finish(tx: Transaction, committed: Committed) -> None:
            self._tell(committed, written)
            self.dedupe.remember([*events, *keyed])

        self.tx.participate(finish)

    def _put(self, index: int, base_version: int) -> object:
        record = self.records[index]
        kind = kind_of(self.in_force[record.collection].definition)
        assert kind is not None
        assert record.key is not None
        is_built_in = kind == MAINTAINED_VALUE
        address = Address(
            collection=record.collection, entity=record.entity, key=record.key, type=record.type
        )
        try:
            return self.tx.commit(
                PutArtifact(
                    artifact_id=self._address_id(record),
                    address=address,
                    kind=kind,
                    data={"text": record.text, "content": record.content}
                    if is_built_in
                    else record.content,
                    base_version=base_version,
                )
            )
        except ValidationFailed as failed:
            raise RequestSchema.of(failed, "records", index) from failed
        except Rejection as rejection:
            rejection.index = index
            raise

    def _address_id(self, record: RecordInput) -> str:
        assert record.key is not None
        return address_id(record.collection, record.entity, record.key)

    def _versions(self, ids: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in parts(ids, IN_ONE):
            params = (self.tx.workspace_pk, *part)
            found.update(dict(self.tx.execute(VERSIONS + among(part), params)))
        return found

    def _tell(self, committed: Committed, written: Mapping[int, tuple[str, int]]) -> None:
        if not written:
            return
        rows = self.tx.execute(MIRRORED, (self.tx.workspace_pk, committed.change_set_id))
        mirrored = {(artifact_id, version): found for artifact_id, version, *found in rows}
        for index, place in written.items():
            id, pk, seq = mirrored[place]
            self.dedupe.taken[index] = Taken(id, pk, seq)
            link(self.tx, pk, self.sources.get(index, ()))
