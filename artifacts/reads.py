"""What a workspace shows to whoever opened it: one method for each read, the caller's right first.

Every method has an `a…` twin for coroutines, which runs it in the pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack, overload

from . import selectors
from .access import Access
from .core.actors import Actor
from .core.artifact import Artifact, Versioned, validated
from .core.errors import ValidationFailed
from .core.events import Envelope
from .core.state import Group, Proposal
from .core.visibility import NOTHING_HIDDEN, Hidden
from .extensions import StoredEvent
from .pool import twin
from .selectors import ChangeSetInfo, StoredRevision, Window

A = TypeVar("A", bound=Artifact)


class Bounds(TypedDict, total=False):
    """Which part of the log is read, as in `Window`."""

    after_seq: int
    before_seq: int | None
    threads: frozenset[str] | None
    limit: int | None
    last: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """A workspace of one tenant, in the hands of one actor, who looks at it.

    With an `access` it is asked before anything is read; without one this is trusted code of the
    process.
    """

    id: str
    tenant_id: str
    actor: Actor
    pk: int
    access: Access | None = None

    def require(self, action: str, target: Any = None) -> None:
        """Go on, or `forbidden` for this caller."""
        if self.access is not None:
            self.access.require(action, self, target)

    @property
    def hidden(self) -> Hidden:
        """What this caller may not see."""
        return NOTHING_HIDDEN if self.access is None else self.access.hidden(self)

    # Artifacts

    @overload
    def get(self, kind: type[A], artifact_id: str) -> Versioned[A]: ...

    @overload
    def get(self, kind: None, artifact_id: str) -> Versioned[Any]: ...

    def get(self, kind: type[A] | None, artifact_id: str) -> Versioned[Any]:
        """An artifact with its typed value; another kind under that id is `validation_failed`."""
        found = self.artifact(artifact_id)
        if kind is not None and found.kind != kind.artifact_kind:
            raise ValidationFailed.at(
                ["kind"], f"this artifact is no {kind.artifact_kind!r}", "kind_mismatch"
            )
        return found.model_copy(update={"data": validated(found.kind, found.data)})

    def artifact(self, artifact_id: str) -> Versioned[dict[str, Any]]:
        """An artifact with its JSON data."""
        self.require("read_artifacts", artifact_id)
        return selectors.artifact(self.pk, artifact_id, self.hidden)

    def artifacts(
        self,
        kind: str | None = None,
        *,
        archived: bool | None = False,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Versioned[dict[str, Any]]]:
        """A page of artifacts after the one with the id `after`; `archived` None gives both."""
        self.require("read_artifacts")
        return selectors.artifacts(
            self.pk, self.hidden, kind=kind, archived=archived, after=after, limit=limit
        )

    def revision(self, artifact_id: str, version: int) -> StoredRevision:
        self.require("read_artifacts", artifact_id)
        return selectors.revision(self.pk, artifact_id, version, self.hidden)

    def revisions(
        self, artifact_id: str, *, after: int | None = None, limit: int = 100
    ) -> list[StoredRevision]:
        """A page of an artifact's versions, after version `after`."""
        self.require("read_artifacts", artifact_id)
        return selectors.revisions(self.pk, artifact_id, self.hidden, after=after, limit=limit)

    def change_set(self, change_set_id: str) -> ChangeSetInfo:
        self.require("read_change_sets", change_set_id)
        return selectors.change_set(self.pk, change_set_id, self.hidden)

    # Proposals

    def proposal(self, proposal_id: str) -> Proposal:
        self.require("read_proposals", proposal_id)
        return selectors.proposal(self.pk, proposal_id, self.hidden)

    def proposals(
        self,
        status: str | None = None,
        *,
        artifact_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Proposal]:
        """A page of proposals after the one with the id `after`."""
        self.require("read_proposals")
        return selectors.proposals(
            self.pk, self.hidden, status=status, artifact_id=artifact_id, after=after, limit=limit
        )

    def group(self, group_id: str) -> Group:
        self.require("read_proposals", group_id)
        return selectors.group(self.pk, group_id, self.hidden)

    # The log

    def head_seq(self) -> int:
        """The number of the last event, 0 for an empty log."""
        self.require("read_events")
        return selectors.head_seq(self.pk)

    def read(self, **bounds: Unpack[Bounds]) -> list[Envelope]:
        """A window of the log: its first `limit` or its last `last`, for who follows `threads`."""
        return [Envelope.model_validate_json(text) for text in self.read_text(**bounds)]

    def read_text(self, **bounds: Unpack[Bounds]) -> list[str]:
        """The same as stored, for handing on: nothing is parsed."""
        self.require("read_events")
        return selectors.texts(self.pk, Window(**bounds), self.hidden)

    def events(self, window: Window) -> list[StoredEvent]:
        """The same with what reads filter on beside each text."""
        self.require("read_events")
        return selectors.events(self.pk, window, self.hidden)

    aget, aartifact, aartifacts = twin(get), twin(artifact), twin(artifacts)
    arevision, arevisions, achange_set = twin(revision), twin(revisions), twin(change_set)
    aproposal, aproposals, agroup = twin(proposal), twin(proposals), twin(group)
    ahead_seq, aread = twin(head_seq), twin(read)
    aread_text, aevents = twin(read_text), twin(events)
