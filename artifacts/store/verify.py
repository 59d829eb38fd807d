"""Is a log what it was when it was written, and is what stands beside it what the log says?

Checks numbers, digests, chain, head, triggers, and that stored state equals the replay. One problem
is one line; nothing is mended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from .. import extensions, models
from ..core.actors import SystemActor
from ..core.events import Envelope
from ..core.limits import DEFAULT_LIMITS
from ..core.patches import same_json
from ..core.values import Value
from ..guards import disagreements
from .database import Database, database
from .load import as_proposal
from .log import chained, digest_of
from .replay import Replayed
from .transaction import Desk, WriteTransaction

PAGE = 1_000
MOST_PROBLEMS = 100

EVENTS = """
    SELECT seq, text, salt, digest, chain FROM artifactr_event
    WHERE workspace_id = %s AND seq > %s ORDER BY seq LIMIT %s"""
HEAD = "SELECT head_seq, head_chain FROM artifactr_workspace WHERE id = %s"


def problems_of(workspace_pk: int, workspace_id: str) -> list[str]:
    """Every problem of one workspace, up to a hundred, as of one moment."""
    db = database()
    found: list[str] = []
    with db.snapshot():
        for problem in _problems(db, workspace_pk, workspace_id):
            found.append(problem)
            if len(found) == MOST_PROBLEMS:
                break
    return found


def _problems(db: Database, workspace_pk: int, workspace_id: str) -> Iterator[str]:
    for name in disagreements(db.connection):
        yield f"trigger {name}: it is missing or not as declared"
    log = _Log(db, workspace_pk)
    yield from log.problems()
    if log.is_replayable:  # else something is missing, erased or told above
        yield from _differences(_Stored(db, workspace_pk, workspace_id), log.state)


class _Log:
    """Reads a log from its beginning, page by page, checking and replaying as it goes."""

    def __init__(self, db: Database, workspace_pk: int) -> None:
        self.db, self.workspace_pk = db, workspace_pk
        self.state, self.is_replayable = Replayed(), True
        self.seq, self.chain = 0, b""

    def problems(self) -> Iterator[str]:
        while rows := self.db.one(EVENTS, (self.workspace_pk, self.seq, PAGE)).rows:
            for seq, text, *hashes in rows:
                yield from self._event(seq, text, *(bytes(each) for each in hashes))
        head_seq, head_chain = self.db.one(HEAD, (self.workspace_pk,)).rows[0]
        if head_seq != self.seq:
            yield f"head_seq is {head_seq}, the last event is {self.seq}"
        if bytes(head_chain) != self.chain:
            yield "head_chain is not the chain of the last event"

    def _event(
        self, seq: int, text: str, salt: bytes, digest: bytes, chain: bytes
    ) -> Iterator[str]:
        if seq != self.seq + 1:
            yield f"event {self.seq + 1} is missing: the next one is {seq}"
            self.is_replayable = False
        elif chain != chained(self.chain, seq, digest):
            yield f"event {seq}: its chain does not follow from the one before"
        self.seq, self.chain = seq, chain
        if not salt:
            self.is_replayable = False  # erased: its digest stays, its text is gone
            return
        if digest != digest_of(salt, text):
            yield f"event {seq}: its text is not the one that was written"
        try:
            envelope = Envelope.model_validate_json(text)
            if self.is_replayable:
                self.state.take(envelope)
        except (ValueError, KeyError, ArithmeticError) as error:
            yield f"event {seq}: it cannot be replayed ({type(error).__name__})"
            self.is_replayable = False
            return
        if envelope.seq != seq:
            yield f"event {seq}: its envelope says {envelope.seq}"


class _Stored:
    """What stands in the tables, in the shapes of the replay."""

    def __init__(self, db: Database, workspace_pk: int, workspace_id: str) -> None:
        self.db, self.pk = db, workspace_pk
        desk = Desk(workspace_pk, workspace_id, "", SystemActor(), DEFAULT_LIMITS)
        self.tx = WriteTransaction(db, desk)

    def revisions(self) -> Iterator[tuple[str, models.Revision]]:
        rows = models.Revision.objects.filter(artifact__workspace_id=self.pk)
        for row in rows.select_related("artifact").order_by("pk").iterator(PAGE):
            yield f"{row.artifact.public_id}@{row.version}", row

    def artifacts(self) -> Iterator[models.Artifact]:
        yield from models.Artifact.objects.filter(workspace_id=self.pk).iterator(PAGE)

    def proposals(self) -> Iterator[Any]:
        rows = models.Proposal.objects.filter(workspace_id=self.pk).values_list(
            "public_id", "change", "proposed_by", "rationale", "status", "thread_id", "run_id",
            "group_id", "kind", "base_version", "result",
        )  # fmt: skip
        return (as_proposal(row) for row in rows.iterator(PAGE))

    def others(self, name: str, ids: frozenset[str]) -> Mapping[str, Any]:
        """A family that another app keeps; None where no app does."""
        family = extensions.family(name)
        return {} if family is None else family.load(self.tx, ids)


def _differences(stored: _Stored, told: Replayed) -> Iterator[str]:
    yield from _revision_differences(stored, told)
    yield from _artifact_differences(stored, told)
    yield from _proposal_differences(stored, told)
    for name in ("threads", "runs", "messages"):
        yield from _other_differences(stored, name, getattr(told, name))


def _revision_differences(stored: _Stored, told: Replayed) -> Iterator[str]:
    missing = dict(told.revisions)
    for key, row in stored.revisions():
        revision = missing.pop(key, None)
        if not row.salt:
            continue  # erased
        if bytes(row.digest) != digest_of(bytes(row.salt), row.data, row.patch):
            yield f"revision {key}: its data is not what was written"
        if revision is None:
            yield f"revision {key}: no event wrote it"
        elif not _is_same_revision(row, revision):
            yield f"revision {key}: it is not what its event says"
    yield from (f"revision {key}: it is missing" for key in missing)


def _is_same_revision(row: models.Revision, told: Any) -> bool:
    return (
        (row.kind, row.proposal_id, row.archived, row.edited, row.actor_key)
        == (told.kind, told.proposal_id, told.archived, told.edited, told.actor.participant)
        and same_json(from_json(row.data), told.data)
        and (row.patch is None) == (told.patch is None)
    )


def _artifact_differences(stored: _Stored, told: Replayed) -> Iterator[str]:
    missing = dict(told.artifacts)
    for row in stored.artifacts():
        artifact = missing.pop(row.public_id, None)
        if artifact is None:
            yield f"artifact {row.public_id}: no event created it"
        elif (row.kind, row.version, row.archived) != (
            artifact.kind, artifact.version, artifact.archived,
        ):  # fmt: skip
            yield f"artifact {row.public_id}: its row is not what the log says"
    yield from (f"artifact {id}: it is missing" for id in missing)


def _proposal_differences(stored: _Stored, told: Replayed) -> Iterator[str]:
    missing = dict(told.proposals)
    for proposal in stored.proposals():
        expected = missing.pop(proposal.id, None)
        if expected is None:
            yield f"proposal {proposal.id}: no event created it"
        elif proposal.model_copy(update={"result": None}).wire() != expected.wire():
            yield f"proposal {proposal.id}: it is not what the log says"
    yield from (f"proposal {id}: it is missing" for id in missing)


def _other_differences(stored: _Stored, name: str, told: Any) -> Iterator[str]:
    if extensions.family(name) is None:
        return
    ids = list(told)
    for start in range(0, len(ids), PAGE):
        part = frozenset(ids[start : start + PAGE])
        found = stored.others(name, part)
        for id in sorted(part):
            if not _is_same(found.get(id), True if name == "messages" else told[id]):
                yield f"{name} {id}: what is stored is not what the log says"


def _is_same(found: Any, told: Any) -> bool:
    return found.wire() == told.wire() if isinstance(found, Value) else found == told
