"""Binding a recipe as a use, and reading uses.

    use = bind(workspace, "daily_agent_prompt", {"entity": "agent:ada", "task": message})
    answer = model.run(use.content)  # keep use.id beside the answer

A bind locks no workspace: it reads the recipe and its blocks, and inserts one row. With a snapshot
it is one transaction, which holds the locks under which records are numbered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json, to_jsonable_python

from artifacts import clock, conf
from artifacts.core.errors import Rejection, Unavailable
from artifacts.core.ids import new_id
from artifacts.core.values import is_id
from artifacts.pool import twin
from artifacts.workspace import Workspace
from feedback import selectors
from feedback.bound import BoundArtifact, telemetry_attributes
from feedback.core.errors import ArtifactUseExpired, RenderChanged
from feedback.models import ArtifactUse
from feedback.selectors import UseInfo
from feedback.store.uses import NewUse, add_use
from learning.core.errors import RequestSchema
from learning.core.render_errors import ArtifactSnapshot
from learning.selectors.recipes import StoredRecipe, recipe_in_force, recipe_of_version
from learning.selectors.records import RecordInfo, as_infos, record_rows
from learning.services.records import ingest_in
from learning.services.render import Rendered, rendered
from learning.services.snapshots import snapshot_of, snapshot_text

KEY_HEADER = "Idempotency-Key"


class _KeyTaken(Exception):
    """Somebody else was first with this key; what was written with it goes back."""


def bind(
    workspace: Workspace,
    name: str,
    parameters: Mapping[str, Any],
    *,
    snapshot: bool = False,
    idempotency_key: str | None = None,
) -> BoundArtifact:
    """Render the active version of a recipe and name that render by a use.

    A key that this actor used before gives that use again: with the text of its snapshot, or else
    rendered anew. Where that gives another text now, it is refused as `render_changed`.
    """
    workspace.require("bind", name)
    key = None if idempotency_key is None else _Key.of(idempotency_key, name, parameters, snapshot)
    if key is not None and (first := key.first_use(workspace)) is not None:
        return _again(workspace, first, parameters)
    recipe = recipe_in_force(workspace, name)
    if snapshot and recipe.recipe.snapshot is None:
        raise ArtifactSnapshot
    binding = _Binding(workspace, recipe, parameters, key)
    try:
        return binding.with_snapshot() if snapshot else binding.alone()
    except _KeyTaken:
        first = None if key is None else key.first_use(workspace)
    if first is None:
        raise Unavailable
    return _again(workspace, first, parameters)


def use(workspace: Workspace, use_id: str) -> UseInfo:
    """What a use says of itself; no text and no parameters, which it never had."""
    workspace.require("read_uses", use_id)
    return selectors.use_info(find_use(workspace, use_id))


def uses(
    workspace: Workspace,
    *,
    recipe: str | None = None,
    version: int | None = None,
    head: str | None = None,
    after: str | None = None,
    limit: int = 100,
) -> list[UseInfo]:
    """A page of uses, oldest first; `head` is the id of a record that they ran on."""
    workspace.require("read_uses")
    return selectors.uses(
        workspace.pk, recipe=recipe, version=version, head=head, after=after, limit=limit
    )


def signals(
    workspace: Workspace, use_id: str, *, after: str | None = None, limit: int = 100
) -> list[RecordInfo]:
    """A page of the learning signals that were given on a use, oldest first."""
    workspace.require("read_uses", use_id)
    workspace.require("read_records", use_id)
    ids = selectors.signal_ids(find_use(workspace, use_id), after=after, limit=limit)
    rows = record_rows(workspace.pk, workspace.hidden).filter(public_id__in=ids)
    place = {id: number for number, id in enumerate(ids)}
    return as_infos(
        workspace.pk, sorted(rows, key=lambda row: place[row.public_id]), workspace.hidden
    )


def find_use(workspace: Workspace, use_id: str) -> ArtifactUse:
    """The row of a use: `request_schema` for what is no use's id, else `artifact_use_not_found`."""
    if not selectors.is_use_id(use_id):
        raise RequestSchema.at(["use_id"], "must be use_ and 32 hex digits", "use_id")
    return selectors.find_use(workspace.pk, use_id)


abind, ause, auses, asignals = twin(bind), twin(use), twin(uses), twin(signals)


@dataclass(frozen=True, slots=True)
class _Key:
    """An idempotency key, and the hash of what it was sent with; that hash is salted by the key."""

    text: str
    request_sha256: str

    @classmethod
    def of(cls, text: str, *request: Any) -> _Key:
        if not is_id(text):
            raise RequestSchema.at([KEY_HEADER], "1 to 128 characters without '/' or NUL")
        sent = json.dumps([text, *request], sort_keys=True, default=repr)
        return cls(text, hashlib.sha256(sent.encode()).hexdigest())

    def first_use(self, workspace: Workspace) -> ArtifactUse | None:
        """What the key stands for already; another request under it is refused."""
        found = selectors.find_by_key(workspace.pk, workspace.actor.participant, self.text)
        if found is not None and found.request_sha256 != self.request_sha256:
            raise RequestSchema.at([KEY_HEADER], "was used with another request before")
        return found


@dataclass(frozen=True, slots=True)
class _Binding:
    """One bind on its way."""

    workspace: Workspace
    recipe: StoredRecipe
    parameters: Mapping[str, Any]
    key: _Key | None

    def alone(self) -> BoundArtifact:
        return self._bound(rendered(self.workspace, self.recipe, self.parameters), None)

    def with_snapshot(self) -> BoundArtifact:
        """Text, snapshot and use of one moment, all of them or none."""
        with self.workspace.transaction() as tx:
            made = rendered(self.workspace, self.recipe, self.parameters)
            [kept] = ingest_in(
                tx,
                [snapshot_of(made)],
                namespace="snapshot",
                hidden=self.workspace.hidden,
                as_records=True,
            )
            assert kept.record_id is not None
            return self._bound(made, kept.record_id)

    def _bound(self, made: Rendered, snapshot_id: str | None) -> BoundArtifact:
        created_at, identity, target = clock.now(), made.stored.identity, made.learning_target
        settings = conf.settings()
        new = NewUse(
            public_id=new_id("use"),
            recipe=(identity.name, identity.version, identity.definition_hash),
            render_sha256=made.render.render_sha256,
            truncated=made.render.truncated,
            sender=self.workspace.actor.participant,
            created_at=created_at,
            expires_at=selectors.retention_end(created_at, settings.USE_RETENTION_DAYS),
            snapshot_id=snapshot_id,
            idempotency_key=None if self.key is None else self.key.text,
            request_sha256=None if self.key is None else self.key.request_sha256,
            target=None if target is None else to_json(target).decode(),
            heads=_heads(target),
        )
        if not add_use(self.workspace.pk, new):
            raise _KeyTaken
        return _as_bound(
            use_id=new.public_id,
            artifact=identity.wire(),
            made=(made.render.content, made.render.render_sha256, made.render.truncated),
            snapshot_id=snapshot_id,
            target=target,
            expires_at=to_jsonable_python(new.expires_at),
            namespace=settings.TELEMETRY_NAMESPACE,
        )


def _heads(target: Mapping[str, Any] | None) -> tuple[str, ...]:
    ids = (head["record_id"] for head in target["heads"]) if target else ()
    return tuple(id for id in ids if id is not None)


def _again(
    workspace: Workspace, first: ArtifactUse, parameters: Mapping[str, Any]
) -> BoundArtifact:
    """The use that a key stands for, with the very text it named."""
    info = selectors.use_info(first)
    if info.expired:
        raise ArtifactUseExpired
    content = _text_again(workspace, first, parameters)
    if content is None or hashlib.sha256(content.encode()).hexdigest() != first.render_sha256:
        raise RenderChanged(use_id=first.public_id)
    return _as_bound(
        use_id=info.id,
        artifact=info.artifact,
        made=(content, info.render_sha256, info.truncated),
        snapshot_id=info.snapshot_id,
        target=info.learning_target,
        expires_at=to_jsonable_python(info.expires_at),
        namespace=conf.settings().TELEMETRY_NAMESPACE,
    )


def _text_again(
    workspace: Workspace, first: ArtifactUse, parameters: Mapping[str, Any]
) -> str | None:
    try:
        if first.snapshot_id is not None:
            return snapshot_text(workspace, first.snapshot_id)
        recipe = recipe_of_version(workspace, first.recipe_name, first.recipe_version)
        return rendered(workspace, recipe, parameters).render.content
    except Rejection:  # what a required block showed is gone
        return None


def _as_bound(
    *,
    use_id: str,
    artifact: dict[str, Any],
    made: tuple[str, str, bool],
    snapshot_id: str | None,
    target: Mapping[str, Any] | None,
    expires_at: str | None,
    namespace: str,
) -> BoundArtifact:
    content, render_sha256, truncated = made
    return BoundArtifact(
        id=use_id,
        content=content,
        artifact=artifact,
        render_sha256=render_sha256,
        telemetry_attributes=telemetry_attributes(
            namespace,
            use_id=use_id,
            artifact=artifact,
            render_sha256=render_sha256,
            snapshot_id=snapshot_id,
        ),
        snapshot_id=snapshot_id,
        learning_target=target,
        expires_at=expires_at,
        truncated=truncated,
    )
