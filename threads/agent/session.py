"""What tools are given: the workspace, in the agent's hands, and the host's own things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from artifacts import core
from artifacts.workspace import Workspace

AppDeps = TypeVar("AppDeps")


@dataclass(frozen=True, slots=True)
class Session(Generic[AppDeps]):
    """One turn's dependencies: `RunContext[Session[AppDeps]]` in every tool.

    What is committed through `workspace` is attributed to this thread's agent in this run, on
    behalf of whoever started the turn; it fails once the turn's claim on the thread is lost.
    """

    workspace: Workspace
    thread_id: str
    run_id: str
    app: AppDeps

    async def record(self, fact: core.ToolCalled | core.ToolReturned) -> None:
        await self.workspace.arecord(fact)
