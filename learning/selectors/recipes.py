"""Recipes as a render needs them: the version asked for, what it refers to, and their hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from artifacts.core.errors import NotFound
from artifacts.workspace import Workspace, database
from learning.core.definitions import Recipe, View
from learning.core.errors import ArtifactNotFound
from learning.core.render import Identity
from learning.models import Definition

from .catalog import parse, stored

COLUMNS = "d.id, d.name, d.version, d.sha256, d.body"
IN_FORCE = f"""
    SELECT {COLUMNS}, p.name, p.version, p.sha256
    FROM artifactr_learning_activedefinition a
    JOIN artifactr_learning_definition d ON d.id = a.definition_id
    JOIN artifactr_learning_definition p ON p.id = a.package_id
    WHERE a.workspace_id = %s AND a.type = 'artifact' AND a.name = %s"""
OF_VERSION = f"""
    SELECT {COLUMNS}, NULL, NULL, NULL FROM artifactr_learning_definition d
    WHERE d.workspace_id = %s AND d.type = 'artifact' AND d.name = %s AND d.version = %s"""
NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class Improved:
    """The reviewed recipe that feedback on a use improves."""

    recipe: Recipe
    identity: Identity


@dataclass(frozen=True, slots=True)
class References:
    """The definitions that a recipe names, at the versions that it names."""

    views: Mapping[str, View]
    view_hashes: Mapping[str, str]
    improved: Improved | None


@dataclass(frozen=True, slots=True)
class StoredRecipe:
    """A recipe of a workspace. `package` is the one that put it in force."""

    pk: int
    recipe: Recipe
    identity: Identity
    package: Identity | None
    references: References


def recipe_in_force(workspace: Workspace, name: str) -> StoredRecipe:
    """The active version of a recipe, or `artifact_not_found`."""
    if len(name) > NAME_CHARS or "\0" in name:
        raise ArtifactNotFound
    return _found(workspace, IN_FORCE, name)


def recipe_of_version(workspace: Workspace, name: str, version: int) -> StoredRecipe:
    """One version of a recipe, in force or not."""
    return _found(workspace, OF_VERSION, name, version)


def _found(workspace: Workspace, sql: str, *params: str | int) -> StoredRecipe:
    rows = database().one(sql, (workspace.pk, *params)).rows
    if not rows:
        raise ArtifactNotFound
    pk, name, version, sha256, body, *package = rows[0]
    return StoredRecipe(
        pk=pk,
        recipe=_recipe(body),
        identity=Identity(name, version, sha256),
        package=Identity(*package) if package[0] else None,
        references=_references(workspace.id, workspace.pk, pk, body),
    )


@lru_cache(maxsize=1_024)
def _references(workspace_id: str, workspace_pk: int, pk: int, body: str) -> References:
    """Neither a recipe nor what it refers to ever changes, so they are looked up once."""
    recipe = _recipe(body)
    view_refs = sorted({block.view for block in recipe.blocks.values() if block.view})
    owner = recipe.learning.artifact if recipe.learning else None
    keys = [("view", ref) for ref in view_refs] + ([("artifact", owner)] if owner else [])
    rows = stored(workspace_pk, keys)
    for type_name, ref in keys:
        if (type_name, ref) not in rows:
            raise NotFound(type_name, ref)
    return References(
        views={ref: _view(rows["view", ref].body) for ref in view_refs},
        view_hashes={ref: rows["view", ref].sha256 for ref in view_refs},
        improved=_improved(rows["artifact", owner]) if owner else None,
    )


def _improved(row: Definition) -> Improved:
    return Improved(_recipe(row.body), Identity(row.name, row.version, row.sha256))


def _recipe(body: str) -> Recipe:
    return cast(Recipe, parse("artifact", body))


def _view(body: str) -> View:
    return cast(View, parse("view", body))
