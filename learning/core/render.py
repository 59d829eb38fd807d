"""The text of a recipe: a pure function of its definition, parameters and what its blocks found.

Each block is cut at its token budget, between rows. Everything but the template's own characters is
escaped. The manifest tells exactly what was shown and what was cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from artifacts.core.limits import Limits

from .definitions import Block, Recipe
from .escaping import escaped
from .parameters import Values, filled, shown
from .render_errors import ArtifactBlock, ArtifactParameter
from .tokens import TokenCounter

RowStatus = Literal["active", "draft", "superseded"]
Cut = Literal["tokens", "rows"]


class Row(NamedTuple):
    """One value or record that a block found; a tuple, because there are many of them.

    A draft has its `proposal_id` and no record yet; a record of an event has no revision.
    """

    text: str
    collection: str
    entity: str
    key: str | None = None
    type: str | None = None
    status: RowStatus = "active"
    record_id: str | None = None
    artifact_id: str | None = None
    version: int | None = None
    proposal_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What was read for a block. `error` says why it could not be read; `has_more` that not
    everything there was fitted the bound on rows."""

    rows: Sequence[Row] = ()
    entity: str | None = None
    has_more: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RenderedBlock:
    """A block as it stands in the text; `rows` are those that are shown, of `found` ones."""

    text: str
    tokens: int
    max_tokens: int
    rows: tuple[Row, ...]
    found: int
    cut_by: Cut | None
    entity: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Identity:
    """Which definition something was made from."""

    name: str
    version: int
    definition_hash: str

    def wire(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "definition_hash": self.definition_hash,
        }


@dataclass(frozen=True, slots=True)
class Render:
    """A rendered text, its hash over exactly its UTF-8 bytes, and how it came about."""

    content: str
    render_sha256: str
    tokens: int
    blocks: Mapping[str, RenderedBlock]
    token_counter: str
    definition: Identity
    package: Identity | None = None
    views: Mapping[str, str] = field(default_factory=dict)

    @property
    def truncated(self) -> bool:
        """Whether any block was cut."""
        return any(block.cut_by for block in self.blocks.values())

    @property
    def record_ids(self) -> tuple[str, ...]:
        """The records that are shown, each once."""
        ids = (row.record_id for block in self.blocks.values() for row in block.rows)
        return tuple(dict.fromkeys(id for id in ids if id is not None))

    def manifest(self) -> dict[str, Any]:
        """What was shown, from which definitions, at what cost; no text."""
        return {
            "definition": self.definition.wire(),
            "package": self.package.wire() if self.package else None,
            "views": dict(self.views),
            "token_counter": self.token_counter,
            "tokens": self.tokens,
            "truncated": self.truncated,
            "blocks": {name: _block_manifest(block) for name, block in self.blocks.items()},
        }


def render(
    recipe: Recipe,
    values: Values,
    found: Mapping[str, Found],
    *,
    counter: TokenCounter,
    limits: Limits,
    definition: Identity,
    package: Identity | None = None,
    views: Mapping[str, str] | None = None,
) -> Render:
    """Put together what the blocks found; a required block that has nothing to show refuses."""
    blocks = {
        name: _block(name, block, found[name], counter) for name, block in recipe.blocks.items()
    }
    places = {name: escaped(shown(value)) for name, value in values.items()}
    content = filled(recipe.template, places | {name: b.text for name, b in blocks.items()})
    tokens = counter.count(content)
    if tokens > limits.render_tokens:
        raise ArtifactParameter.at(
            ["parameters"],
            f"make a text of {tokens} tokens; it may have {limits.render_tokens} (render_tokens)",
            "too_long",
        )
    return Render(
        content=content,
        render_sha256=hashlib.sha256(content.encode()).hexdigest(),
        tokens=tokens,
        blocks=blocks,
        token_counter=counter.name,
        definition=definition,
        package=package,
        views=views or {},
    )


def _block(name: str, block: Block, found: Found, counter: TokenCounter) -> RenderedBlock:
    text, tokens, count = _fitting(block, found.rows, counter)
    if block.required:
        _check_required(name, block, found, count)
    cut: Cut | None = "rows" if found.has_more else None
    return RenderedBlock(
        text=text,
        tokens=tokens,
        max_tokens=block.max_tokens,
        rows=tuple(found.rows[:count]),
        found=len(found.rows),
        cut_by="tokens" if count < len(found.rows) else cut,
        entity=found.entity,
        error=found.error,
    )


def _fitting(block: Block, rows: Sequence[Row], counter: TokenCounter) -> tuple[str, int, int]:
    """The rows from the first one on that fit the budget, what they cost, and how many."""
    is_view, gap = block.view is not None, ""
    names_collections = block.document is not None and len(block.document.collections) > 1
    count, most = counter.count, block.max_tokens
    parts: list[str] = []
    tokens = 0
    for row in rows:
        part = gap + escaped(_listed(row) if is_view else _titled(row, names_collections))
        cost = count(part)
        if tokens + cost > most:
            break
        parts.append(part)
        tokens += cost
        gap = "\n" if is_view else "\n\n"
    return "".join(parts), tokens, len(parts)


def _check_required(name: str, block: Block, found: Found, count: int) -> None:
    if found.error is not None:
        raise ArtifactBlock(f"block {name!r} could not be read: {found.error}", block=name)
    if found.rows and not count:
        raise ArtifactBlock(
            f"block {name!r}: its first row alone exceeds {block.max_tokens} tokens (max_tokens)",
            block=name,
        )
    if count:
        return
    if block.view:
        raise ArtifactBlock(f"block {name!r}: its view found nothing", block=name)
    if found.has_more:
        raise ArtifactBlock(f"block {name!r}: the rows of other blocks left no room", block=name)


def _listed(row: Row) -> str:
    """An entry of a list; its further lines are set in, so that no text begins another entry."""
    text = row.text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "- " + text.replace("\n", "\n  ")


def _titled(row: Row, names_collections: bool) -> str:
    """A value under the name of its key."""
    title = " ".join((row.key or "").split())
    if names_collections:
        title = f"{row.collection}/{title}"
    if row.status != "active":
        title = f"{title} ({row.status})"
    return f"{title}:\n{row.text}"


def row_text(text: Any, content: Any) -> str:
    """What a row shows: its text, or else its content as JSON."""
    if isinstance(text, str) and text.strip():
        return text
    return _json(content) if content else ""


def _json(value: Any) -> str:
    # Not the canonical form, which knows no integers beyond those of JavaScript.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _block_manifest(block: RenderedBlock) -> dict[str, Any]:
    told: dict[str, Any] = {
        "tokens": block.tokens,
        "max_tokens": block.max_tokens,
        "found": block.found,
        "shown": len(block.rows),
        "cut_by": block.cut_by,
        "rows": [_row_manifest(row) for row in block.rows],
    }
    for name in ("entity", "error"):
        if (value := getattr(block, name)) is not None:
            told[name] = value
    return told


ROW_MEMBERS = (
    "record_id", "collection", "entity", "key", "type", "artifact_id", "version", "proposal_id",
    "run_id",
)  # fmt: skip


def _row_manifest(row: Row) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in ROW_MEMBERS if getattr(row, name) is not None}
    return told if row.status == "active" else {**told, "status": row.status}
