"""A workspace with the shipped package and a skill in force, as an application would have it."""

from __future__ import annotations

from typing import Any

from artifacts.workspace import Workspace
from learning.services import records
from learning.services.catalog import apply_catalog, files_of_package
from learning.services.records import Ingested

RECIPE = "daily_agent_prompt"
ADA = "agent:ada"
TASK = {"entity": ADA, "task": "Answer the customer."}
SKILL = {
    "steps": "Read the order before you answer.",
    "pitfalls": "A refund that was asked for is not yet paid.",
    "examples": "Your refund is pending; it takes five days.",
}


def make_skilled(workspace: Workspace, entity: str = ADA) -> Workspace:
    """Apply the package and put the three parts of one skill."""
    apply_catalog(workspace, files_of_package("skills"))
    put_skill(workspace, SKILL, entity)
    return workspace


def put_skill(workspace: Workspace, parts: dict[str, str], entity: str = ADA) -> list[Ingested]:
    """Put parts of a skill, each on what is in force."""
    return records.ingest(
        workspace,
        [
            {"collection": "skills", "entity": entity, "key": key, "text": text}
            for key, text in parts.items()
        ],
    )


def signals_in(workspace: Workspace) -> list[dict[str, Any]]:
    """Every learning signal, oldest first, as it is read."""
    found = records.records(workspace, records.RecordQuery(collection=("learning_signals",)))
    return [each.wire() for each in found]
