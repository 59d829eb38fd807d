"""What tools are given: the workspace in the agent's hands, its running turn, the host's things."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext

from artifacts import core
from artifacts.core.events import AnyFact
from artifacts.core.protocol import LiveEvent
from artifacts.workspace import Workspace

AppDeps = TypeVar("AppDeps")


class LiveChannel(Protocol):
    """Where live frames of a run go; `send` never waits."""

    def send(self, event: LiveEvent) -> None: ...


class RunningTurn(Protocol):
    """The port by which the capability tells the engine how a run goes on.

    Each call is one step that is on disk when it returns; what refuses it raises.
    """

    @property
    def workspace(self) -> Workspace:
        """The workspace as the agent's, fenced by the claim on the thread while the run goes on."""
        ...

    @property
    def live(self) -> LiveChannel: ...

    async def around(
        self, ctx: RunContext[Any], handler: Callable[[], Awaitable[AgentRunResult[Any]]]
    ) -> AgentRunResult[Any]:
        """Run the agent: a run that its host drives itself begins and ends with it."""
        ...

    async def record(self, fact: AnyFact) -> None:
        """Take a fact into the log."""
        ...

    async def before_request(
        self, ctx: RunContext[Any], request: ModelRequestContext, *, notices: bool = False
    ) -> ModelRequestContext:
        """Store what history is new, and give the model what was said and changed meanwhile.

        With `notices`, the notices of others too. Call it last in `before_model_request` and
        return what it returns.
        """
        ...

    async def may_execute(self, call: ToolCallPart) -> None:
        """Go on if this call may execute now. An approval does once, ever: `ToolInDoubt` else."""
        ...

    async def tool_called(
        self, ctx: RunContext[Any], call: ToolCallPart, fact: core.ToolCalled
    ) -> None:
        """A tool is about to execute: its fact, with the response that holds the call."""
        ...

    async def tool_returned(
        self, ctx: RunContext[Any], call: ToolCallPart, fact: core.ToolReturned, content: Any
    ) -> None:
        """A tool came back: its fact, with what the model is told (a value or a message part)."""
        ...


# What makes the port of a run that its host drives. It needs all of the engine, which needs this
# module, so it is put here as the package is imported.
_own_turn: list[Callable[[Workspace, str], RunningTurn]] = []


def own_runs_with(make: Callable[[Workspace, str], RunningTurn]) -> None:
    _own_turn.append(make)


@dataclass(frozen=True, slots=True)
class Session(Generic[AppDeps]):
    """One turn's dependencies: `RunContext[Session[AppDeps]]` in every tool.

    What is committed through `workspace` is attributed to this thread's agent in this run, on
    behalf of whoever started the turn; it fails once the turn's claim on the thread is lost.
    """

    thread_id: str
    run_id: str
    app: AppDeps
    turn: RunningTurn

    @classmethod
    def start(
        cls,
        workspace: Workspace,
        thread_id: str,
        *,
        app: Any = None,
        on_behalf_of: core.UserActor | None = None,
    ) -> Session[Any]:
        """The deps of a run that you drive yourself: it begins and ends with `agent.run(…)`.

        It is on behalf of the workspace's own person, unless you name another.
        """
        own = workspace.actor if isinstance(workspace.actor, core.UserActor) else None
        run_id = core.new_id("run")
        actor = core.AgentActor(
            thread_id=thread_id, run_id=run_id, on_behalf_of=on_behalf_of or own
        )
        agents_own = workspace.as_actor(actor)
        return cls(thread_id, run_id, app, _own_turn[-1](agents_own, thread_id))

    @property
    def workspace(self) -> Workspace:
        """The workspace in the agent's hands."""
        return self.turn.workspace

    @property
    def live(self) -> LiveChannel:
        """Where live frames go; nowhere in a headless run."""
        return self.turn.live

    async def record(self, fact: AnyFact) -> None:
        """Take a fact of this run into the log."""
        await self.turn.record(fact)
