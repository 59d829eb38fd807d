"""What is declared in a workspace, and which version of it is in force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from pydantic_core import from_json

from artifacts.core.actors import Actor, actor_adapter
from artifacts.core.errors import NotFound, ValidationFailed
from artifacts.core.values import Id, Value
from artifacts.extensions import Statement
from artifacts.workspace import Workspace, database
from learning import models
from learning.core.definitions import MODELS, AnyDefinition, Collection
from learning.core.errors import ArtifactNotFound
from learning.core.rules.listing import Key

# How many names one statement asks for.
IN_ONE = 200
COLLECTIONS = """
    SELECT a.name, d.id, d.version, d.body
    FROM artifactr_learning_activedefinition a
    JOIN artifactr_learning_definition d ON d.id = a.definition_id
    WHERE a.workspace_id = %s AND a.type = 'collection' AND a.name {any}"""


class DefinitionInfo(Value):
    """One version of a declaration; `versions` are all there are of its name."""

    type: str
    name: str
    version: int
    definition_hash: str
    active: bool
    package: str | None = None
    actor: Actor
    at: datetime
    body: dict[str, Any] | None = None
    versions: tuple[int, ...] | None = None


class DefinitionEntry(Value):
    """A definition in a list: without its body."""

    id: Id
    type: str
    name: str
    version: int
    definition_hash: str
    active: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class InForce:
    """The active version of a collection."""

    pk: int
    version: int
    definition: Collection


def definition(
    workspace: Workspace, type_name: str, name: str, version: int | None = None
) -> DefinitionInfo:
    """A definition with its body: the version asked for, else the one in force."""
    workspace.require("read_catalog", name)
    rows = _rows(workspace).filter(type=type_name, name=name[:200])
    every = {row.version: row for row in rows.select_related("active__package").order_by("version")}
    if version is None:
        row = next((each for each in every.values() if hasattr(each, "active")), None)
    else:
        row = every.get(version)
    if row is None:
        raise _unknown(type_name, name)
    active = getattr(row, "active", None)
    return DefinitionInfo(
        type=row.type,
        name=row.name,
        version=row.version,
        definition_hash=row.sha256,
        active=active is not None,
        package=f"{active.package.name}@{active.package.version}" if active else None,
        actor=actor_adapter.validate_json(row.actor),
        at=row.at,
        body=from_json(row.body),
        versions=tuple(every),
    )


def definitions(
    workspace: Workspace,
    *,
    type_name: str | None = None,
    name: str | None = None,
    active: bool | None = None,
    after: str | None = None,
    limit: int = 100,
) -> list[DefinitionEntry]:
    """A page of definitions, oldest first, after the one with the id `after`."""
    workspace.require("read_catalog")
    in_force = Exists(models.ActiveDefinition.objects.filter(definition=OuterRef("pk")))
    rows = _rows(workspace).annotate(is_active=in_force).defer("body")
    if type_name is not None:
        rows = rows.filter(type=type_name)
    if name is not None:
        rows = rows.filter(name=name)
    if active is not None:
        rows = rows.filter(is_active=active)
    if after is not None:
        rows = rows.filter(pk__gt=_cursor(after))
    return [
        DefinitionEntry(
            id=f"def_{row.pk}",
            type=row.type,
            name=row.name,
            version=row.version,
            definition_hash=row.sha256,
            active=row.is_active,
            at=row.at,
        )
        for row in rows.order_by("pk")[:limit]
    ]


def stored(workspace_pk: int, keys: Iterable[Key]) -> dict[Key, models.Definition]:
    """Those of these definitions that the workspace has, by type and `name@version`."""
    asked = set(keys)
    refs = sorted({tuple(ref.split("@")) for _, ref in asked})
    found: dict[Key, models.Definition] = {}
    for start in range(0, len(refs), IN_ONE):
        part = refs[start : start + IN_ONE]
        rows = models.Definition.objects.filter(
            workspace_id=workspace_pk,
            name__in={name for name, _ in part},
            version__in={int(version) for _, version in part},
        )
        for row in rows.iterator(IN_ONE):
            if (key := (row.type, f"{row.name}@{row.version}")) in asked:
                found[key] = row
    return found


def parsed(row: models.Definition) -> AnyDefinition:
    """The model of a stored definition."""
    return parse(row.type, row.body)


@lru_cache(maxsize=1_024)
def parse(type_name: str, body: str) -> AnyDefinition:
    """Definitions never change, so each is read once."""
    return MODELS[type_name].model_validate(from_json(body))


def collections_in_force(workspace_pk: int, names: Iterable[str]) -> dict[str, InForce]:
    """The active versions of these collections; one statement, as every write asks for them."""
    return collections_of(database().one(*asking_collections(workspace_pk, names)).rows)


def asking_collections(workspace_pk: int, names: Iterable[str]) -> Statement:
    """That statement, for whoever has others to send with it."""
    db = database()
    return db.spelled(COLLECTIONS), (workspace_pk, db.array(sorted(set(names))))


def collections_of(rows: Iterable[Sequence[Any]]) -> dict[str, InForce]:
    """What its rows say."""
    found: dict[str, InForce] = {}
    for name, pk, version, body in rows:
        collection = parse("collection", body)
        assert isinstance(collection, Collection)
        found[name] = InForce(pk, version, collection)
    return found


def _rows(workspace: Workspace) -> QuerySet[models.Definition]:
    return models.Definition.objects.filter(workspace_id=workspace.pk)


def _unknown(type_name: str, name: str) -> Exception:
    return ArtifactNotFound() if type_name == "artifact" else NotFound(type_name, name)


def _cursor(after: str) -> int:
    prefix, _, number = after.partition("_")
    if prefix != "def" or not (number.isascii() and number.isdigit() and len(number) < 19):
        raise ValidationFailed.at(["after"], "names nothing in this list")
    return int(number)
