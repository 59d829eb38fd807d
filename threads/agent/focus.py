"""What a thread's agent follows: whatever it reads or changes, beside what people chose."""

from __future__ import annotations

from dataclasses import dataclass

from artifacts import conf, core
from artifacts.models import Artifact
from artifacts.workspace import Workspace
from threads import selectors


@dataclass(frozen=True, slots=True)
class Followed:
    """A thread's mode, and as much of its focus as an agent is told: id, kind, version of each."""

    mode: str
    shown: tuple[tuple[str, str, int], ...]
    more: int


def follow(workspace: Workspace, thread_id: str, artifact_id: str) -> None:
    """Put an artifact into the thread's focus, while there is room.

    The focus is set as a whole, so it is read again under the lock: what a person put there
    meanwhile stays.
    """
    if artifact_id in selectors.thread(workspace, thread_id).focus:
        return
    with workspace.transaction() as tx:
        focus = selectors.thread(workspace, thread_id).focus
        if artifact_id not in focus and len(focus) < conf.limits().focus_artifacts:
            tx.commit(core.SetFocus(thread_id=thread_id, artifact_ids=(*focus, artifact_id)))


def followed(workspace: Workspace, thread_id: str, *, most: int) -> Followed:
    """What the thread follows now; of many, those that joined last."""
    thread = selectors.thread(workspace, thread_id)
    newest = thread.focus[-most:]
    rows = Artifact.objects.filter(workspace_id=workspace.pk, public_id__in=newest)
    found = {row[0]: row for row in rows.values_list("public_id", "kind", "version")}
    shown = tuple(found[id] for id in newest if id in found)
    return Followed(thread.mode, shown, more=len(thread.focus) - len(newest))
