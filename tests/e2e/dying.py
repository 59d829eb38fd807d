"""The agent of workers that die in the middle of turns, each once, at the point a message names.

    die:<point>:<how>

`how` is `child` (the process that runs the turn), or `parent` (with the worker's main process).
Imported by the workers alone, as they start.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.tools import Tool

from artifacts import core
from artifacts.pool import in_pool
from tests.support.kinds import Paper
from threads import selectors
from threads.agent import ArtifactWorkspace, Session, function_model
from threads.agent import turn as turns
from threads.agent.attempt import Attempt
from threads.services import endings, openings

FOLDER = Path(os.environ["ARTIFACTR_STATE_DIR"])
POINTS = (
    "claimed", "started", "first_request", "call_unwritten", "before_the_effect",
    "after_the_effect", "return_written", "second_request", "before_the_end", "after_the_end",
)  # fmt: skip

# So that a test does not wait for what people would.
endings.BACKOFF_SECONDS = (1, 1, 1)


def die_if_asked(workspace: Any, thread_id: str, point: str) -> None:
    """Die here, if the thread's first message says so, and only once."""
    first = selectors.messages(workspace, thread_id, limit=1)[0].event
    words = first.content.split(":") if isinstance(first, core.MessagePosted) else []
    if words[:2] != ["die", point]:
        return
    mark = FOLDER / f"{thread_id}.{point}"
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    if words[2] == "parent":
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


async def adie_if_asked(session: Session[Any], point: str) -> None:
    await in_pool(die_if_asked, session.workspace, session.thread_id, point)


def _before(owner: Any, name: str, die: Callable[..., None]) -> None:
    original = getattr(owner, name)

    @wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        die(*args)
        return original(*args, **kwargs)

    setattr(owner, name, wrapped)


_before(openings, "next_turn", lambda claim, id: die_if_asked(claim.workspace, id, "claimed"))
_before(
    endings,
    "end",
    lambda turn, *_: die_if_asked(turn.workspace, turn.thread.id, "before_the_end"),
)
assert turns.endings is endings

_tool_called, _tool_returned = Attempt.tool_called, Attempt.tool_returned


async def _called(self: Attempt, ctx: RunContext[Any], *args: Any) -> None:
    await adie_if_asked(ctx.deps, "call_unwritten")
    await _tool_called(self, ctx, *args)


async def _returned(self: Attempt, ctx: RunContext[Any], *args: Any) -> None:
    await _tool_returned(self, ctx, *args)
    await adie_if_asked(ctx.deps, "return_written")


setattr(Attempt, "tool_called", _called)  # noqa: B010 - the checker forbids the plain way
setattr(Attempt, "tool_returned", _returned)  # noqa: B010


@contextmanager
def context(session: Session[Any]) -> Iterator[None]:
    die_if_asked(session.workspace, session.thread_id, "started")
    yield


def ended(turn: endings.Ended) -> None:
    die_if_asked(turn.workspace, turn.thread_id, "after_the_end")


async def write(ctx: RunContext[Session[Any]]) -> str:
    """Write one paper."""
    await adie_if_asked(ctx.deps, "before_the_effect")
    await ctx.deps.workspace.acommit(core.CreateArtifact(kind="paper", data={"text": "Written."}))
    await adie_if_asked(ctx.deps, "after_the_effect")
    return "written"


async def wait(ctx: RunContext[Session[Any]]) -> str:
    """Wait until a file says go on."""
    (FOLDER / "waiting").touch()
    while not (FOLDER / "go_on").exists():  # noqa: ASYNC110 - it is another process that says so
        await asyncio.sleep(0.05)
    return "waited"


async def approved(ctx: RunContext[Session[Any]]) -> str:
    """Something that a person approves."""
    return await write(ctx)


async def respond(messages: list[ModelMessage], info: Any) -> ModelResponse:
    """Call the tool that was asked for, then say so."""
    said = [part for message in messages for part in message.parts]
    if any(isinstance(part, ToolCallPart) for part in said):
        return ModelResponse(parts=[TextPart("Done.")])
    prompts = [part.content for part in said if isinstance(part, UserPromptPart)]
    words = [
        each for content in prompts for each in ([content] if isinstance(content, str) else content)
    ]
    tool = next((each for each in words if each in ("wait", "approved")), "write")
    return ModelResponse(parts=[ToolCallPart(str(tool), {})])


class Dying(ArtifactWorkspace):
    """The capability, with the two points at which the model is asked."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        request = await super().before_model_request(ctx, request_context)
        calls = [part for m in ctx.messages for part in m.parts if isinstance(part, ToolCallPart)]
        await adie_if_asked(ctx.deps, "second_request" if calls else "first_request")
        return request


agent: Agent[Session[Any], Any] = Agent(
    function_model(respond),
    deps_type=Session,
    output_type=[str, DeferredToolRequests],
    capabilities=[Dying(types=[Paper])],
    tools=[write, wait, Tool(approved, requires_approval=True)],
)
