"""What the workspace refused, in words from which a model can do better.

What it can repair comes back with the artifact as it is now; the rest is told as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_core import to_json

from artifacts import core
from artifacts.core.actors import actor_adapter

from .session import Session
from .showing import shown

REPAIRABLE = (core.VersionConflict, core.PatchFailed, core.ValidationFailed)
TOLD_PROBLEMS = 10
TOLD_CHANGES = 10
CHANGE_CHARS = 1_000


async def refusal(
    session: Session[Any], error: core.Rejection | core.Unavailable, args: Mapping[str, Any]
) -> ModelRetry | ToolFailed:
    """What to raise so that the model hears of it."""
    told = f"{error.code}: {error.message}"
    if not isinstance(error, REPAIRABLE):
        return ToolFailed(told)
    lines = [told, *_details(error)]
    artifact_id = getattr(error, "artifact_id", None) or args.get("artifact_id")
    if isinstance(artifact_id, str):
        lines += await _as_it_is(session, artifact_id)
    return ModelRetry("\n".join(lines))


def _details(error: core.Rejection) -> Iterator[str]:
    match error:
        case core.ValidationFailed(errors=problems) if len(problems) > 1:
            for each in problems[:TOLD_PROBLEMS]:
                yield f"- {'.'.join(map(str, each['loc']))}: {each['msg']}"
        case core.VersionConflict(changes=changes) if changes:
            yield f"Changed since version {error.base}:"
            if len(changes) > TOLD_CHANGES:
                yield f"(the last {TOLD_CHANGES} of {len(changes)} changes)"
            yield from map(_changed, changes[-TOLD_CHANGES:])


def _changed(change: Mapping[str, Any]) -> str:
    who = core.display_name(actor_adapter.validate_python(change["actor"]))
    what = "archived" if change.get("archived") else to_json(change.get("patch")).decode()
    cut = what if len(what) <= CHANGE_CHARS else what[:CHANGE_CHARS] + " …"
    return f"- version {change['version']} by {who}: {cut}"


async def _as_it_is(session: Session[Any], artifact_id: str) -> list[str]:
    try:
        current = await session.workspace.aartifact(artifact_id)
    except core.Rejection:
        return []
    return ["It is now:", shown(current)]
