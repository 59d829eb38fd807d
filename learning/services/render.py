"""Rendering a recipe of a workspace: its parameters checked, its blocks read, its text made.

What is read: the recipe, all document blocks in one statement, each view in one. Nothing is locked
and nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string

from artifacts import conf
from artifacts.core.errors import Rejection
from artifacts.pool import twin
from artifacts.workspace import Workspace
from learning.core.definitions import Block, Recipe, View
from learning.core.parameters import (
    Scalar,
    Values,
    arguments,
    checked,
    entity_of,
    filled,
    resolved,
    shown,
)
from learning.core.render import Found, Render, Row, render
from learning.core.target import learning_target
from learning.core.tokens import OFFLINE, TokenCounter
from learning.selectors.documents import Wanted, document_rows
from learning.selectors.recipes import StoredRecipe, recipe_in_force
from learning.selectors.views import Selection, view_rows


@dataclass(frozen=True, slots=True)
class Rendered:
    """A render, what it was made of, and what feedback on it should improve."""

    stored: StoredRecipe
    values: Values
    render: Render
    learning_target: dict[str, Any] | None


def render_artifact(workspace: Workspace, name: str, parameters: Mapping[str, Any]) -> Rendered:
    """Render the active version of a recipe, for looking at: no use comes of it."""
    workspace.require("read_records", name)
    return rendered(workspace, recipe_in_force(workspace, name), parameters)


arender_artifact = twin(render_artifact)


def rendered(workspace: Workspace, stored: StoredRecipe, parameters: Mapping[str, Any]) -> Rendered:
    """Render one version of a recipe; the caller has asked who may."""
    recipe = stored.recipe
    values = checked(recipe.parameters, parameters)
    made = render(
        recipe,
        values,
        _Reading(workspace, stored, values).found(),
        counter=token_counter(),
        limits=conf.limits(),
        definition=stored.identity,
        package=stored.package,
        views={
            name: f"{block.view} {stored.references.view_hashes[block.view]}"
            for name, block in recipe.blocks.items()
            if block.view
        },
    )
    improved = stored.references.improved
    target = None
    if improved is not None:
        target = learning_target(recipe, made, improved.identity, kind=improved.recipe.kind)
    return Rendered(stored, values, made, target)


def token_counter() -> TokenCounter:
    """The host's counter, or the one that needs nothing."""
    name = conf.settings().TOKEN_COUNTER
    return OFFLINE if name is None else TokenCounter(name, import_string(name))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the blocks of one recipe find."""

    workspace: Workspace
    stored: StoredRecipe
    values: Values

    def found(self) -> dict[str, Found]:
        most = conf.limits().bind_rows
        found = self._documents(most)
        left = most - sum(len(each.rows) for each in found.values())
        for name, block in self.stored.recipe.blocks.items():
            if block.view is not None:
                found[name] = self._view(block, self.stored.references.views[block.view], left)
                left -= len(found[name].rows)
        return found

    def _documents(self, most: int) -> dict[str, Found]:
        recipe = self.stored.recipe
        wanted = {
            name: Wanted(
                entity_of(block.document.entity, self.values, block=name),
                block.document.collections,
                block.document.status,
            )
            for name, block in recipe.blocks.items()
            if block.document is not None
        }
        rows, full_at = document_rows(
            self.workspace.pk, wanted, hidden=self.workspace.hidden, most=most
        )
        # Of the blocks after the one at which the bound was met nothing is known.
        unread = False
        found: dict[str, Found] = {}
        for name, each in wanted.items():
            unread = unread or name == full_at
            found[name] = Found(self._ordered(name, rows[name]), each.entity, has_more=unread)
        return found

    def _ordered(self, name: str, rows: list[Row]) -> list[Row]:
        """Values in force in the order in which the recipe that owns them names their keys."""
        recipe = self.stored.recipe
        document = recipe.blocks[name].document
        keys = self._key_order(name)
        if document is None or document.status != "active" or not keys:
            return rows
        place = {key: number for number, key in enumerate(keys)}
        order = document.collections.index

        def position(row: Row) -> tuple[int, int, str]:
            key = row.key or ""
            return order(row.collection), place.get(key, len(keys)), key

        return sorted(rows, key=position)

    def _key_order(self, name: str) -> tuple[str, ...]:
        recipe, improved = self.stored.recipe, self.stored.references.improved
        owner: Recipe | None = recipe if recipe.lifecycle == "reviewed" else None
        if improved is not None and recipe.learning and recipe.learning.target_block == name:
            owner = improved.recipe
        return tuple(owner.complete_keys or ()) if owner else ()

    def _view(self, block: Block, view: View, most: int) -> Found:
        """A view that cannot be read fails its block, which may be one to do without."""
        entity: str | None = None
        try:
            selection = _selection(view, arguments(view.parameters, block.params, self.values))
            entity = selection.entity
            rows, has_more = view_rows(
                self.workspace.pk, selection, hidden=self.workspace.hidden, most=most
            )
        except Rejection as rejection:
            return Found(entity=entity, error=rejection.message)
        return Found(rows, entity, has_more)


def _selection(view: View, values: Values) -> Selection:
    scope = view.scope
    where: dict[str, Scalar] = {}
    for name, asked in scope.where.items():
        value = resolved(asked, values)
        if value is not None:  # a condition on what was left out asks for nothing
            where[name] = value
    texts = {name: shown(value) for name, value in values.items()}
    return Selection(
        collections=scope.collections,
        entity=None if scope.entity is None else entity_of(scope.entity, values, block=view.ref),
        types=scope.types,
        where=where,
        order=view.order,
        query=None if view.order.query is None else filled(view.order.query, texts),
        limit=view.limit,
    )
