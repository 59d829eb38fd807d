"""What is edited: a plan of 50 tasks and a document of 20 kB, in workspaces of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel

from artifacts.core import (
    AgentActor,
    Artifact,
    CreateArtifact,
    CreateThread,
    EditArtifact,
    JsonPatch,
    MarkdownArtifact,
    ProposeChange,
    RespondToProposal,
    SystemActor,
    TextEdit,
    TextEdits,
    UserActor,
    new_id,
)

ANA = UserActor(id="1", name="Ana")
HOST = SystemActor()
PARAGRAPH = "The quick brown fox jumps over the lazy dog while nobody is looking at either. "


class BenchTask(BaseModel):
    title: str
    status: str = "todo"
    notes: str = ""


class BenchPlan(Artifact, name="bench_plan"):
    goal: str = ""
    tasks: dict[str, BenchTask] = {}


class BenchDoc(MarkdownArtifact, name="bench_doc"):
    pass


def plan_data() -> dict[str, Any]:
    """About 8.7 kB of JSON."""
    task = {"status": "todo", "notes": PARAGRAPH}
    tasks = {f"task_{n:016x}": {"title": f"Task number {n}", **task} for n in range(50)}
    return {"goal": "Ship the first version", "tasks": tasks}


def document_text() -> str:
    """About 20 kB of Markdown with one anchor that an edit finds."""
    return "anchor-0\n\n" + "\n\n".join(f"{n}. {PARAGRAPH * 3}" for n in range(82))


def new_workspace(name: str) -> str:
    from artifacts.models import Tenant, Workspace

    tenant, _ = Tenant.objects.get_or_create(public_id="bench", defaults={"name": "bench"})
    workspace = Workspace.objects.create(tenant=tenant, name=name, public_id=new_id("wsp"))
    return workspace.public_id


def opened(workspace_id: str, actor: Any = ANA) -> Any:
    from artifacts.workspace import open_workspace

    return open_workspace(workspace_id, actor=actor)


@cache
def artifact_in(workspace_id: str, kind: str) -> str:
    """The artifact of this kind in a workspace, made on first use."""
    workspace = opened(workspace_id)
    found = list(workspace.artifacts(kind=kind))
    if found:
        return str(found[0].id)
    data = plan_data() if kind == "bench_plan" else {"text": document_text()}
    return str(workspace.commit(CreateArtifact(kind=kind, data=data)).artifact_id)


def plan_edits(_: int, workspace_id: str) -> Callable[[], object]:
    """One writer that flips the status of one task after another, from the version it last got."""
    workspace, artifact_id = opened(workspace_id), artifact_in(workspace_id, "bench_plan")
    tasks = itertools.cycle(plan_data()["tasks"])
    flips = itertools.count()
    version = workspace.artifact(artifact_id).version

    def work() -> None:
        nonlocal version
        status = f"step {next(flips)}"
        patch = JsonPatch(
            ops=[{"op": "replace", "path": f"/tasks/{next(tasks)}/status", "value": status}]
        )
        edit = EditArtifact(artifact_id=artifact_id, base_version=version, patch=patch)
        version = workspace.commit(edit).version

    return work


def plan_of_own(n: int, workspace_id: str) -> Callable[[], object]:
    """A writer in a shared workspace with a plan of its own, so that only the log is shared."""
    workspace = opened(workspace_id)
    created = workspace.commit(CreateArtifact(kind="bench_plan", data=plan_data()))
    version, flips = created.version, itertools.count()

    def work() -> None:
        nonlocal version
        path = f"/tasks/task_{n:016x}/status"
        patch = JsonPatch(ops=[{"op": "replace", "path": path, "value": f"step {next(flips)}"}])
        edit = EditArtifact(artifact_id=created.artifact_id, base_version=version, patch=patch)
        version = workspace.commit(edit).version

    return work


def document_edits(_: int, workspace_id: str) -> Callable[[], object]:
    """One writer that moves an anchor's number on."""
    workspace, artifact_id = opened(workspace_id), artifact_in(workspace_id, "bench_doc")
    current = workspace.artifact(artifact_id)
    version, number = current.version, int(current.data["text"].split()[0].split("-")[1])

    def work() -> None:
        nonlocal version, number
        edits = [TextEdit(old=f"anchor-{number}\n", new=f"anchor-{number + 1}\n")]
        edit = EditArtifact(
            artifact_id=artifact_id, base_version=version, patch=TextEdits(edits=edits)
        )
        version, number = workspace.commit(edit).version, number + 1

    return work


def decisions(_: int, workspace_id: str) -> Callable[[], object]:
    """An agent proposes a change of one task and a person accepts it."""
    person, artifact_id = opened(workspace_id), artifact_in(workspace_id, "bench_plan")
    thread_id = new_id("thr")
    person.commit(CreateThread(thread_id=thread_id, title="bench"))
    agent = person.as_actor(AgentActor(thread_id=thread_id))
    version, flips = person.artifact(artifact_id).version, itertools.count()

    def work() -> None:
        nonlocal version
        path, value = f"/tasks/task_{7:016x}/status", f"proposed {next(flips)}"
        change = EditArtifact(
            artifact_id=artifact_id,
            base_version=version,
            patch=JsonPatch(ops=[{"op": "replace", "path": path, "value": value}]),
        )
        proposed = agent.commit(ProposeChange(change=change))
        answer = RespondToProposal(proposal_id=proposed.proposal_id, decision="accept")
        version = person.commit(answer).version

    return work
