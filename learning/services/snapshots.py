"""Snapshots: the copy of a render that outlives what it was made from."""

from __future__ import annotations

from artifacts.workspace import Workspace
from learning.core.parameters import entity_of
from learning.core.records import RecordInput
from learning.selectors.records import find_record

from .render import Rendered


def snapshot_of(made: Rendered) -> RecordInput:
    """The record of a render, derived from everything that it shows."""
    recipe, identity, render = made.stored.recipe, made.stored.identity, made.render
    target = recipe.snapshot
    assert target is not None
    return RecordInput(
        collection=target.collection,
        entity=entity_of(target.entity, made.values, block="snapshot"),
        key=entity_of(target.key, made.values, block="snapshot"),
        type=target.type,
        text=f"{identity.name}@{identity.version} {render.render_sha256}",
        content={
            "artifact": identity.wire(),
            "render_sha256": render.render_sha256,
            "content": render.content,
            "tokens": render.tokens,
            "truncated": render.truncated,
            "manifest": render.manifest(),
        },
        derived_from=render.record_ids,
    )


def snapshot_text(workspace: Workspace, record_id: str) -> str | None:
    """The text that a snapshot holds; None once it was erased."""
    content = find_record(workspace.pk, record_id, workspace.hidden).content
    text = content.get("content")
    return text if isinstance(text, str) else None
