"""The generic tools: list, read, create, edit text, archive. No raw patches: models get them wrong.

Whatever the agent reads or changes joins the thread's focus, so it is told of later changes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import RunContext

from artifacts import core
from artifacts.pool import in_pool

from .focus import follow
from .session import Session
from .showing import listed, shown

Context = RunContext[Session[Any]]
Tool = Callable[..., Awaitable[str]]


@dataclass(frozen=True)
class GenericTools:
    """The tools over some kinds of artifact."""

    types: Mapping[str, type[core.Artifact]]
    most_listed: int
    most_chars: int

    def all(self) -> Sequence[Tool]:
        return (
            self.list_artifacts,
            self.read_artifact,
            self.create_artifact,
            self.edit_text,
            self.archive_artifact,
        )

    async def list_artifacts(
        self, ctx: Context, kind: str | None = None, after: str | None = None
    ) -> str:
        """List the artifacts of this workspace: id, kind, version and first line.

        Args:
            kind: Only artifacts of this kind.
            after: Only those that come after the artifact with this id, for the next page.
        """
        if kind is not None:
            self._check_kind(kind)
        kinds = self.types if kind is None else (kind,)
        found: list[core.Versioned[Any]] = []
        for each in kinds:
            if (room := self.most_listed - len(found)) <= 0:
                break
            found += await ctx.deps.workspace.aartifacts(each, after=after, limit=room + 1)
        lines = [listed(each) for each in found[: self.most_listed]]
        if len(found) > self.most_listed:
            last = found[self.most_listed - 1]
            lines.append(f"There are more: list kind {last.kind!r} after {last.id!r}.")
        return "\n".join(lines) or "There are no artifacts yet."

    async def read_artifact(self, ctx: Context, artifact_id: str) -> str:
        """Show one artifact as it is now.

        Args:
            artifact_id: Its id, as list_artifacts gives it.
        """
        current = await self._artifact(ctx, artifact_id)
        await _follow(ctx, artifact_id)
        return shown(current, most=self.most_chars)

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
            await _follow(ctx, command.artifact_id)
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
        _check_field(current, field)
        await _follow(ctx, artifact_id)
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


def said(outcome: core.Outcome, what: str) -> str:
    """An outcome in words for a model."""
    match outcome:
        case core.Applied(artifact_id=id, version=version):
            return f"Done: {id} is now at version {version}."
        case core.Proposed(proposal_id=id):
            return f"Proposed {what} ({id}); a person will decide."
    return "Done."


async def _follow(ctx: Context, artifact_id: str) -> None:
    await in_pool(follow, ctx.deps.workspace, ctx.deps.thread_id, artifact_id)


def _check_field(artifact: core.Versioned[Any], field: str) -> None:
    """Say what to do instead where there is no text to edit; a JSON Pointer finds out by itself."""
    if field.startswith("/") or isinstance(artifact.data.get(field), str):
        return
    texts = [name for name, value in artifact.data.items() if isinstance(value, str)]
    refused = f"{artifact.id} is of kind {artifact.kind} and has no text field {field!r}."
    if texts:
        raise ModelRetry(f"{refused} Its text fields are: {', '.join(texts)}.")
    raise ToolFailed(f"{refused} Use a tool made for this kind, or say that you have none.")
