"""The generic tools: list, read, create, edit text, archive. No raw patches: models get them wrong.

Whatever the agent reads or changes joins the thread's focus, so it is told of later changes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.tools import RunContext

from artifacts import conf, core
from artifacts.pool import in_pool
from threads import selectors

from .session import Session

LISTED = 100
SHOWN_CHARS = 100_000
FIRST_LINE_CHARS = 80

Context = RunContext[Session[Any]]
Tool = Callable[..., Awaitable[str]]


class GenericTools:
    """The tools over some kinds of artifact."""

    def __init__(self, types: Mapping[str, type[core.Artifact]]) -> None:
        self.types = dict(types)

    def all(self) -> Sequence[Tool]:
        return (
            self.list_artifacts,
            self.read_artifact,
            self.create_artifact,
            self.edit_text,
            self.archive_artifact,
        )

    async def list_artifacts(self, ctx: Context, kind: str | None = None) -> str:
        """List the artifacts of this workspace: id, kind, version and first line.

        Args:
            kind: Only artifacts of this kind.
        """
        if kind is not None:
            self._check_kind(kind)
        found = await ctx.deps.workspace.aartifacts(kind=kind, limit=LISTED)
        lines = [
            f"{each.id} ({each.kind}, version {each.version}): {_first_line(each)}"
            for each in found
            if each.kind in self.types
        ]
        return "\n".join(lines) or "There are no artifacts yet."

    async def read_artifact(self, ctx: Context, artifact_id: str) -> str:
        """Show one artifact as it is now.

        Args:
            artifact_id: Its id, as list_artifacts gives it.
        """
        current = await self._artifact(ctx, artifact_id)
        await follow(ctx, artifact_id)
        return shown(current)

    async def create_artifact(self, ctx: Context, kind: str, data: dict[str, Any]) -> str:
        """Create an artifact.

        Args:
            kind: The kind of artifact.
            data: Its fields.
        """
        self._check_kind(kind)
        command = core.CreateArtifact(kind=kind, data=data)
        outcome = await ctx.deps.workspace.acommit(command)
        if isinstance(outcome, core.Applied):
            await follow(ctx, command.artifact_id)
        return said(outcome, f"creating {command.artifact_id}")

    async def edit_text(
        self,
        ctx: Context,
        artifact_id: str,
        edits: list[core.TextEdit],
        field: str = "text",
        propose: bool = False,
    ) -> str:
        """Change a text field of an artifact by replacing exact passages.

        Args:
            artifact_id: The artifact to change.
            edits: Replacements in order. Each `old` must occur exactly once; an empty `old` fills
                an empty field.
            field: The text field to change.
            propose: Suggest the change for a person's decision instead of making it.
        """
        current = await self._artifact(ctx, artifact_id)
        await follow(ctx, artifact_id)
        change = core.EditArtifact(
            artifact_id=artifact_id,
            base_version=current.version,
            patch=core.TextEdits(field=field, edits=tuple(edits)),
        )
        command = core.ProposeChange(change=change) if propose else change
        return said(await ctx.deps.workspace.acommit(command), f"the edit of {artifact_id}")

    async def archive_artifact(self, ctx: Context, artifact_id: str) -> str:
        """Make an artifact read-only, for good unless a person brings it back.

        Args:
            artifact_id: The artifact to archive.
        """
        current = await self._artifact(ctx, artifact_id)
        command = core.ArchiveArtifact(artifact_id=artifact_id, base_version=current.version)
        outcome = await ctx.deps.workspace.acommit(command)
        return said(outcome, f"archiving {artifact_id}")

    async def _artifact(self, ctx: Context, artifact_id: str) -> core.Versioned[Any]:
        found = await ctx.deps.workspace.aartifact(artifact_id)
        self._check_kind(found.kind)
        return found

    def _check_kind(self, kind: str) -> None:
        if kind not in self.types:
            raise ModelRetry(f"You work with these kinds only: {', '.join(sorted(self.types))}.")


async def follow(ctx: Context, artifact_id: str) -> None:
    """Put an artifact into the thread's focus, while there is room."""
    session = ctx.deps
    thread = await in_pool(selectors.thread, session.workspace, session.thread_id)
    if artifact_id in thread.focus or len(thread.focus) >= conf.limits().focus_artifacts:
        return
    focus = (*thread.focus, artifact_id)
    await session.workspace.acommit(core.SetFocus(thread_id=session.thread_id, artifact_ids=focus))


def said(outcome: core.Outcome, what: str) -> str:
    """An outcome in words for a model."""
    match outcome:
        case core.Applied(artifact_id=id, version=version):
            return f"Done: {id} is now at version {version}."
        case core.Proposed(proposal_id=id):
            return f"Proposed {what} ({id}); a person will decide."
    return "Done."


def shown(artifact: core.Versioned[Any]) -> str:
    """An artifact as its kind shows it to an agent, with its id and version first."""
    text = core.artifact_type(artifact.kind).model_validate(artifact.data).render_for_agent()
    if len(text) > SHOWN_CHARS:
        text = text[:SHOWN_CHARS] + f"\n… (cut at {SHOWN_CHARS} characters)"
    archived = ", archived" if artifact.archived else ""
    return f"{artifact.id} ({artifact.kind}, version {artifact.version}{archived})\n{text}"


def _first_line(artifact: core.Versioned[Any]) -> str:
    text = core.artifact_type(artifact.kind).model_validate(artifact.data).render_for_agent()
    return (text.strip().splitlines() or ["(empty)"])[0][:FIRST_LINE_CHARS]
