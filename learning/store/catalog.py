"""Writing definitions and moving what is in force, under the workspace's lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from artifacts.core.actors import Actor
from artifacts.extensions import Transaction
from learning.core.rules.listing import Key
from learning.models import ActiveDefinition, Definition

from .rows import parts


@dataclass(frozen=True, slots=True)
class NewDefinition:
    """What is to be kept of one definition."""

    type: str
    name: str
    version: int
    body: str
    sha256: str


def add_definitions(tx: Transaction, new: Sequence[NewDefinition]) -> None:
    """Keep definitions, for good."""
    Definition.objects.bulk_create(
        Definition(
            workspace_id=tx.workspace_pk,
            type=each.type,
            name=each.name,
            version=each.version,
            body=each.body,
            sha256=each.sha256,
            actor=_text(tx.actor),
            at=tx.now,
        )
        for each in new
    )


def activate(tx: Transaction, rows: Iterable[Definition], package: Definition) -> None:
    """Put definitions in force, each instead of the version before it."""
    rows = list(rows)
    of_type: dict[str, list[str]] = {}
    for row in rows:
        of_type.setdefault(row.type, []).append(row.name)
    for type_name, names in of_type.items():
        for part in parts(names):
            ActiveDefinition.objects.filter(
                workspace_id=tx.workspace_pk, type=type_name, name__in=part
            ).delete()
    ActiveDefinition.objects.bulk_create(
        ActiveDefinition(
            workspace_id=tx.workspace_pk,
            type=row.type,
            name=row.name,
            definition=row,
            package=package,
            actor=_text(tx.actor),
            at=tx.now,
        )
        for row in rows
    )


def retire(tx: Transaction, active: Mapping[Key, int]) -> None:
    """Take definitions out of force, by the keys of their pointers."""
    for part in parts(sorted(active.values())):
        ActiveDefinition.objects.filter(workspace_id=tx.workspace_pk, pk__in=part).delete()


def _text(actor: Actor) -> str:
    return actor.model_dump_json(exclude_none=True)
