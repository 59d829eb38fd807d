"""Is a log what it was when it was written, and is what stands beside it what the log says?

Checks numbers, digests, chain, head, the columns that reads filter on, triggers, and that stored
state equals the replay; then asks the other apps about rows of their own. One problem is one line;
nothing is mended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import extensions
from ..core.events import Envelope, UnknownEvent
from ..core.visibility import SEPARATOR, mentions
from ..guards import disagreements
from .compare import HEAVY_PAGE, Told, differences, is_emptied
from .database import Database, as_moment, database
from .log import artifact_of, chained, digest_of

MOST_PROBLEMS = 100

EVENTS = """
    SELECT seq, text, salt, digest, chain, change_set_id, public_id, type, thread_id, run_id,
        actor_key, artifact_id, mentions, at
    FROM artifactr_event WHERE workspace_id = %s AND seq > %s ORDER BY seq LIMIT %s"""
HEAD = "SELECT head_seq, head_chain, last_event_at FROM artifactr_workspace WHERE id = %s"


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
    log = _Log(db, workspace_pk, workspace_id)
    yield from log.problems()
    if log.is_replayable:  # else something is missing, erased or told above
        yield from differences(db, workspace_pk, workspace_id, log.told)
    for verifier in extensions.verifiers():
        yield from verifier(workspace_pk)


class _Log:
    """Reads a log from its beginning, page by page, checking and replaying as it goes."""

    def __init__(self, db: Database, workspace_pk: int, workspace_id: str) -> None:
        self.db, self.workspace_pk, self.workspace_id = db, workspace_pk, workspace_id
        self.told, self.is_replayable = Told(), True
        self.seq, self.chain = 0, b""
        self.at: Any = None

    def problems(self) -> Iterator[str]:
        while rows := self.db.one(EVENTS, (self.workspace_pk, self.seq, HEAVY_PAGE)).rows:
            for seq, text, salt, digest, chain, change_set_id, *columns in rows:
                hashes = (bytes(salt), bytes(digest), bytes(chain))
                yield from self._event(seq, text, hashes, change_set_id, columns)
        head_seq, head_chain, last_event_at = self.db.one(HEAD, (self.workspace_pk,)).rows[0]
        if head_seq != self.seq:
            yield f"head_seq is {head_seq}, the last event is {self.seq}"
        if bytes(head_chain) != self.chain:
            yield "head_chain is not the chain of the last event"
        if as_moment(last_event_at) != self.at:
            yield "last_event_at is not the moment of the last event"

    def _event(
        self,
        seq: int,
        text: str,
        hashes: tuple[bytes, bytes, bytes],
        change_set_id: str | None,
        columns: list[Any],
    ) -> Iterator[str]:
        salt, digest, chain = hashes
        if seq != self.seq + 1:
            yield f"event {self.seq + 1} is missing: the next one is {seq}"
            self.is_replayable = False
        elif chain != chained(self.chain, seq, digest):
            yield f"event {seq}: its chain does not follow from the one before"
        self.seq, self.chain, self.at = seq, chain, as_moment(columns[-1])
        if not salt:
            self.is_replayable = False  # erased: its digest stays, its text is gone
            if not is_emptied(text):
                yield f"event {seq}: it has lost its salt and still says something"
            return
        if digest != digest_of(salt, text):
            yield f"event {seq}: its text is not the one that was written"
        yield from self._text(seq, text, change_set_id, columns)

    def _text(
        self, seq: int, text: str, change_set_id: str | None, columns: list[Any]
    ) -> Iterator[str]:
        """What the envelope says, and whether it stands where it says."""
        try:
            envelope = Envelope.model_validate_json(text)
            if self.is_replayable:
                self.told.take(envelope, change_set_id)
        except (ValueError, KeyError, ArithmeticError) as error:
            yield f"event {seq}: it cannot be replayed ({type(error).__name__})"
            self.is_replayable = False
            return
        if envelope.seq != seq:
            yield f"event {seq}: its envelope says {envelope.seq}"
        if envelope.workspace_id != self.workspace_id:
            yield f"event {seq}: its envelope is of another workspace"
        if not _is_filed(envelope, change_set_id, columns):
            yield f"event {seq}: it is filed under something else than it says"


def _is_filed(envelope: Envelope, change_set_id: str | None, columns: list[Any]) -> bool:
    """Whether what reads filter on is what the envelope says."""
    id, type_, thread_id, run_id, actor_key, artifact_id, mentioned, at = columns
    event = envelope.event
    if envelope.change_set_id not in (None, change_set_id):
        return False
    if isinstance(event, UnknownEvent):  # a newer version filed it, by rules of its own
        artifact_id, mentioned = None, ""
        filed: tuple[str | None, str] = (None, "")
    else:
        filed = artifact_of(event), SEPARATOR.join(mentions(event))
    return (id, type_, thread_id, run_id, actor_key, as_moment(at)) == (
        envelope.id, event.type, envelope.thread_id, envelope.run_id, envelope.actor.participant,
        envelope.ts,
    ) and (artifact_id, mentioned) == filed  # fmt: skip
