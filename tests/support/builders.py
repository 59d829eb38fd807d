"""Things in a workspace, made through the door: what no command leads to proves nothing."""

from __future__ import annotations

from artifacts.core import (
    Artifact,
    CreateArtifact,
    CreateThread,
    EditArtifact,
    JsonPatch,
    PostMessage,
    ProposeChange,
    RunStarted,
    TextEdit,
    TextEdits,
    new_id,
)
from artifacts.core.patches import diff
from artifacts.workspace import Workspace
from tests.support.kinds import Board, Job, Paper


def make_artifact(
    workspace: Workspace, value: Artifact | None = None, *, artifact_id: str | None = None
) -> str:
    """An artifact at version 1; its id."""
    value = value or Paper(text="one two three")
    command = CreateArtifact(
        artifact_id=artifact_id or new_id("art"),
        kind=value.artifact_kind,
        data=value.model_dump(mode="json"),
    )
    workspace.commit(command)
    return command.artifact_id


def make_board(workspace: Workspace, jobs: int = 3) -> str:
    """A board with so many jobs."""
    tasks = {f"job{number}": Job(title=f"Job {number}") for number in range(jobs)}
    return make_artifact(workspace, Board(goal="ship", jobs=tasks))


def edit_text(
    artifact_id: str, version: int, old: str, new: str, *, thread_id: str | None = None
) -> EditArtifact:
    """Replace a piece of a paper's text."""
    return EditArtifact(
        artifact_id=artifact_id,
        base_version=version,
        patch=TextEdits(edits=(TextEdit(old=old, new=new),)),
        thread_id=thread_id,
    )


def set_job(artifact_id: str, version: int, job: str, status: str) -> EditArtifact:
    """Move a job of a board on."""
    ops = ({"op": "replace", "path": f"/jobs/{job}/status", "value": status},)
    return EditArtifact(
        artifact_id=artifact_id,
        base_version=version,
        patch=JsonPatch.model_validate({"ops": ops}),
    )


def append_text(workspace: Workspace, artifact_id: str, text: str) -> EditArtifact:
    """Add to a paper as it is now."""
    paper = workspace.get(Paper, artifact_id)
    after = {"text": f"{paper.data.text}{text}"}
    return EditArtifact(
        artifact_id=artifact_id,
        base_version=paper.version,
        patch=diff({"text": paper.data.text}, after),
    )


def make_thread(workspace: Workspace, title: str = "Planning") -> str:
    command = CreateThread(title=title)
    workspace.commit(command)
    return command.thread_id


def post(workspace: Workspace, thread_id: str, content: str = "hello") -> str:
    command = PostMessage(thread_id=thread_id, content=content)
    workspace.commit(command)
    return command.message_id


def make_run(agent: Workspace, thread_id: str) -> str:
    """A run that has started; `agent` is the thread's own."""
    run_id = new_id("run")
    agent.record(RunStarted(run_id=run_id, thread_id=thread_id))
    return run_id


def make_proposal(
    workspace: Workspace, change: EditArtifact, *, group_id: str | None = None
) -> str:
    """A pending proposal by the holder of `workspace`."""
    command = ProposeChange(change=change, group_id=group_id)
    workspace.commit(command)
    return command.proposal_id
