"""The client's names in process, for Django code: the same calls without HTTP.

    here = Local(workspace)
    with here.artifact("daily_agent_prompt").use({"entity": "agent:ada"}) as use:
        answer = model.run(use.content)
    here.feedback.for_use(use.id).thumbs_down(comment="Wrong status.")

`AsyncLocal` has the same for coroutines. What is refused is raised as the `Rejection` that it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from artifacts.pool import in_pool
from artifacts.workspace import Workspace
from learning.services import records

from .bound import BoundArtifact
from .fluent import (
    Ingested,
    Parameters,
    RecordFields,
    Submitted,
    said,
)
from .names import AsyncNames, Names
from .services import signals, uses


class Local(Names):
    """A workspace in the hands of its actor."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def record(self, record_id: str) -> dict[str, Any]:
        """One record, as it is read."""
        return records.record(self._workspace, record_id).wire()

    def _bind(self, name: str, parameters: Parameters, *, snapshot: bool) -> BoundArtifact:
        return uses.bind(self._workspace, name, parameters, snapshot=snapshot)

    def _submit(self, use_id: str, feedback: Mapping[str, Any]) -> Submitted:
        submitted = signals.submit(self._workspace, use_id, feedback)
        return cast(Submitted, submitted.wire())

    def _ingest(self, given: Sequence[RecordFields]) -> list[Ingested]:
        taken = records.ingest(self._workspace, [said(each) for each in given])
        return [cast(Ingested, each.wire()) for each in taken]


class AsyncLocal(AsyncNames):
    """The same for coroutines; the work is done in the pool."""

    def __init__(self, workspace: Workspace) -> None:
        self._local = Local(workspace)

    async def record(self, record_id: str) -> dict[str, Any]:
        """One record, as it is read."""
        return await in_pool(self._local.record, record_id)

    async def _bind(self, name: str, parameters: Parameters, *, snapshot: bool) -> BoundArtifact:
        return await in_pool(self._local.artifact(name).bind, parameters, snapshot=snapshot)

    async def _submit(self, use_id: str, feedback: Mapping[str, Any]) -> Submitted:
        return await in_pool(self._local._submit, use_id, feedback)

    async def _ingest(self, given: Sequence[RecordFields]) -> list[Ingested]:
        return await in_pool(self._local._ingest, given)
