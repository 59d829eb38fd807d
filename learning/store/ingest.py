"""Taking records in: each is checked against the collection in force, events are appended, keyed
values go through the write path; all in one transaction or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pydantic_core import to_json

from artifacts.core.artifact import Address
from artifacts.core.commands import PutArtifact
from artifacts.core.errors import Rejection, ValidationFailed
from artifacts.core.ids import address_id
from artifacts.core.outcomes import Applied, Proposed
from artifacts.core.visibility import Hidden
from artifacts.extensions import Committed, Statement, Transaction
from artifacts.workspace import WriteTransaction
from learning.core.errors import RequestSchema
from learning.core.records import MAINTAINED_VALUE, RecordInput, content_problems, kind_of
from learning.selectors.catalog import InForce, asking_collections, collections_of

from .citations import cite
from .dedupe import Dedupe, Taken
from .questions import Questions
from .records import NewRecord, Places, Source, link, write
from .rows import Rows, among, parts

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


class Checked(NamedTuple):
    """A record within its limits, and the JSON of its content, which is written once."""

    record: RecordInput
    content_text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """How a batch is taken in: `namespace` keeps its dedupe keys apart, `hidden` is what its sender
    may not cite, and `as_records` keeps keyed ones as plain records, without an artifact."""

    namespace: str
    hidden: Hidden
    as_records: bool = False


class Beside(Protocol):
    """Rows of another app that go with a batch, in the same round trips."""

    def asking(self, tx: Transaction) -> Statement:
        """What it must know."""
        ...

    def found(self, rows: Rows) -> None:
        """Take the answer before anything is written; it may refuse by raising."""
        ...

    def writing(self, record_id: str) -> list[Statement]:
        """What is written beside a new record."""
        ...


def take_in(
    tx: WriteTransaction,
    records: Sequence[Checked],
    terms: Terms,
    beside: Beside | None = None,
) -> list[Taken]:
    """What becomes of each; keyed ones are told when the transaction has been saved."""
    batch = _Batch(tx, [each.record for each in records], terms)
    batch.ask(beside)
    fresh = batch.dedupe.fresh()
    for index in fresh:
        _check(index, batch.records[index], batch.in_force, terms)
    sources = batch.sources(fresh)
    keyed = [i for i in fresh if batch.is_put(batch.records[i])]
    events = [index for index in fresh if index not in set(keyed)]
    placed = batch.places.of(batch.new([(i, records[i].content_text) for i in events], sources))
    for index, (pk, seq, record) in zip(events, placed, strict=True):
        batch.dedupe.taken[index] = Taken(record.public_id, pk, seq)
    own = [] if keyed else batch.dedupe.remembering(events)
    if beside is not None:
        own += [each for _, _, record in placed for each in beside.writing(record.public_id)]
    write(tx, placed, own)
    if keyed:
        _Puts(tx, batch.records, batch.in_force, sources, batch.dedupe).write(keyed, events)
    return batch.dedupe.taken


class _Batch:
    """What is known of a batch: everything it must know is asked for together."""

    def __init__(self, tx: Transaction, records: Sequence[RecordInput], terms: Terms) -> None:
        self.tx, self.records, self.terms = tx, records, terms
        self.dedupe, self.places = Dedupe(tx, records, terms.namespace), Places()
        self.in_force: dict[str, InForce] = {}
        self._cited: dict[str, Source] = {}

    def ask(self, beside: Beside | None) -> None:
        """Ask for the collections in force, what is known and cited, and places for the rows."""
        questions = Questions()
        if beside is not None:
            questions.ask(beside.asking(self.tx), beside.found)
        names = {each.collection for each in self.records}
        questions.ask(
            asking_collections(self.tx.workspace_pk, names),
            lambda rows: self.in_force.update(collections_of(rows)),
        )
        self.dedupe.ask(questions)
        self._ask_cited(questions)
        if most := sum(not self.is_put(each) for each in self.records):
            self.places.ask(self.tx, most, questions)
        questions.answer(self.tx)

    def is_put(self, record: RecordInput) -> bool:
        """Whether it is an artifact's value, and no plain record."""
        return record.key is not None and not self.terms.as_records

    def sources(self, fresh: Sequence[int]) -> dict[int, list[Source]]:
        """The keys of what each record cites: records and revisions of this workspace."""
        found: dict[int, list[Source]] = {}
        for index in fresh:
            for place, id in enumerate(self.records[index].derived_from):
                if id not in self._cited:
                    problem = ValidationFailed.at([place], "names no record or revision here")
                    raise RequestSchema.of(problem, "records", index, "derived_from")
                found.setdefault(index, []).append(self._cited[id])
        return found

    def new(self, events: Sequence[tuple[int, str]], sources: Sources) -> list[NewRecord]:
        """The records to write, by their places in the batch and the texts of their contents."""
        actor = to_json(self.tx.actor.wire()).decode()
        return [
            NewRecord(
                collection=record.collection,
                in_force=self.in_force[record.collection],
                entity=record.entity,
                key=record.key,
                type=record.type,
                text=record.text,
                content=record.content,
                content_text=content_text,
                actor=actor,
                sources=sources.get(index, ()),
            )
            for index, content_text in events
            for record in (self.records[index],)
        ]

    def _ask_cited(self, questions: Questions) -> None:
        ids = sorted({id for each in self.records for id in each.derived_from})
        for part in parts(ids):
            params = (self.tx.workspace_pk, *part)
            questions.ask((RECORD_SOURCES + among(part), params), self._take_records)
            questions.ask((REVISION_SOURCES + among(part), params), self._take_revisions)

    def _take_records(self, rows: Rows) -> None:
        self._cited.update(
            {id: (pk, None) for id, artifact_id, pk in rows if self._seen(artifact_id)}
        )

    def _take_revisions(self, rows: Rows) -> None:
        self._cited.update(
            {id: (None, pk) for id, artifact_id, pk in rows if self._seen(artifact_id)}
        )

    def _seen(self, artifact_id: str | None) -> bool:
        return artifact_id not in self.terms.hidden.artifacts


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
            for index, sources in self.sources.items():
                if (proposal_id := self.dedupe.taken[index].proposal_id) is not None:
                    cite(tx, proposal_id, sources)
            tx.execute_all(self.dedupe.remembering([*events, *keyed]))

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
        for part in parts(ids):
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
