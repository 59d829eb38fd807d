"""Uses in small: the shipped package in force, a skill promoted, and a bind of the daily prompt."""

from __future__ import annotations

from typing import Any

from artifacts.core import Address, PutArtifact, address_id
from artifacts.models import Artifact
from artifacts.workspace import Workspace
from feedback.bound import BoundArtifact
from feedback.services.signals import Submitted, submit
from feedback.services.uses import bind
from learning.services.catalog import apply_catalog, files_of_package
from learning.services.records import ingest

PROMPT = "daily_agent_prompt"
ENTITY = "agent:ada"
SKILL = {"steps": "Look it up first.", "pitfalls": "Never guess.", "examples": "Order 7: pending."}


def furnish(workspace: Workspace) -> str:
    """The shipped package in force and Ada's skill promoted; the id of that run."""
    apply_catalog(workspace, files_of_package("skills"))
    return promote(workspace)


def promote(workspace: Workspace, entity: str = ENTITY, **changed: str) -> str:
    """Write all sections of a skill in one change set, as a promotion does; its id."""
    texts = {**SKILL, **changed}
    puts = [put(workspace, key, text, entity) for key, text in texts.items()]
    done = workspace.commit_all(puts, origin="promotion")
    assert done.change_set_id is not None
    return done.change_set_id


def put(workspace: Workspace, key: str, text: str, entity: str = ENTITY) -> PutArtifact:
    """Write one section over whatever stands there."""
    address = Address(collection="skills", entity=entity, key=key)
    found = Artifact.objects.filter(
        workspace_id=workspace.pk, public_id=address_id("skills", entity, key)
    )
    return PutArtifact(  # type: ignore[call-arg]
        address=address,
        kind="maintained_value",
        data={"text": text, "content": {}},
        base_version=found.values_list("version", flat=True).first() or 0,
    )


def bound(workspace: Workspace, task: str = "Answer.", **options: Any) -> BoundArtifact:
    entity = options.pop("entity", ENTITY)
    return bind(workspace, PROMPT, {"entity": entity, "task": task}, **options)


def say(workspace: Workspace, use_id: str, **members: Any) -> Submitted:
    return submit(workspace, use_id, {"kind": "thumbs_down", "source": "end_user", **members})


def outcome(workspace: Workspace, text: str) -> str:
    """An outcome of Ada's, which the daily prompt shows; its record."""
    record = {"collection": "outcomes", "entity": ENTITY, "type": "failure", "text": text}
    [taken] = ingest(workspace, [{**record, "content": {"kind": "failure"}}])
    assert taken.record_id is not None
    return taken.record_id
