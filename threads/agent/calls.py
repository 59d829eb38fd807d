"""A tool's call and return, as the log and the stored history are told of them."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
)
from pydantic_ai.messages import ToolCallPart, ToolReturn, tool_return_ta
from pydantic_ai.tools import RunContext
from pydantic_core import from_json, to_json

from artifacts import core
from artifacts.core.values import is_id
from artifacts.models import Event
from artifacts.pool import in_pool
from artifacts.workspace import LeaseLost

from . import asking
from .agents import NeverPauses
from .failures import ToolCrashed
from .session import Session

log = logging.getLogger(__name__)

SUMMARY_CHARS = 500  # of a tool's arguments or result in the log
NO_JSON = "The tool gave what is no JSON."

Context = RunContext[Session[Any]]
Status = Literal["ok", "error", "retry"]


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One execution of a tool. What it waits for is told by the run's pause, not by its return."""

    ctx: Context
    call: ToolCallPart

    async def execute(
        self, handler: Callable[[dict[str, Any]], Awaitable[Any]], args: dict[str, Any]
    ) -> Any:
        """Run the tool between its two facts; an approved one only if it may run now."""
        if not self.ctx.tool_call_approved:
            await self._called(args)
        else:
            await self.ctx.deps.turn.may_execute(self.call)
            # A tool that asked for its approval itself was called when it asked.
            if not await in_pool(_is_open, self.ctx.deps, self._id):
                await self._called(args)
        try:
            result = await handler(args)
        except (CallDeferred, ApprovalRequired):
            self._check_may_wait()
            raise
        except LeaseLost:
            raise
        except Exception as error:
            await self._returned(*_failure(error))
            raise
        if not _can_be_told(result):
            log.error("tool %s gave a %s, which is no JSON", self.call.tool_name, type(result))
            await self._returned("error", NO_JSON, NO_JSON)
            raise ToolCrashed(self.call.tool_name)
        await self._returned("ok", result, result)
        return result

    @property
    def _id(self) -> str:
        return logged_id(self.call.tool_call_id)

    def _check_may_wait(self) -> None:
        agent = self.ctx.agent
        if agent is not None and not asking.may_wait(agent):
            raise NeverPauses([self.call.tool_name]) from None

    async def _called(self, args: dict[str, Any]) -> None:
        session = self.ctx.deps
        fact = core.ToolCalled(
            run_id=session.run_id,
            thread_id=session.thread_id,
            tool_call_id=self._id,
            tool_name=self.call.tool_name,
            args_summary=summary(args),
        )
        await session.turn.tool_called(self.ctx, self.call, fact)

    async def _returned(self, status: Status, result: Any, content: Any) -> None:
        session = self.ctx.deps
        fact = core.ToolReturned(
            run_id=session.run_id,
            thread_id=session.thread_id,
            tool_call_id=self._id,
            tool_name=self.call.tool_name,
            status=status,
            summary=summary(result),
        )
        await session.turn.tool_returned(self.ctx, self.call, fact, content)


def _failure(error: Exception) -> tuple[Status, str, Any]:
    """How a tool failed: its status, for people, and as the model is told."""
    match error:
        case ToolRetryError():
            return "retry", str(error), error.tool_retry
        case ModelRetry():
            return "retry", str(error), str(error)
        case ToolFailedError():
            return "error", str(error), error.tool_failed
        case ToolFailed():
            return "error", str(error), str(error)
    return "error", "The tool failed.", "The tool failed."


def logged_id(tool_call_id: str) -> str:
    """A provider's id of a call in the form the log's ids have, always the same one."""
    if is_id(tool_call_id):
        return tool_call_id
    digest = hashlib.sha256(tool_call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"call_{digest[:32]}"


def summary(value: Any) -> str:
    """A few characters for people; the whole is in the model's history."""
    flat = " ".join(as_text(value).replace("\0", "").split())
    return flat if len(flat) <= SUMMARY_CHARS else flat[: SUMMARY_CHARS - 2] + " …"


def as_text(value: Any) -> str:
    """How a value reads, whatever it is."""
    try:
        text = value if isinstance(value, str) else to_json(value, fallback=repr).decode()
    except Exception:  # nor can everything be described
        text = f"<{type(value).__name__}>"
    return text.encode("utf-8", "replace").decode()


def _can_be_told(result: Any) -> bool:
    """Whether a model can be told this, now and when it is remembered: it is JSON both ways."""
    told = result.return_value if isinstance(result, ToolReturn) else result
    try:
        from_json(tool_return_ta.dump_json(told))
    except Exception:
        return False
    return True


def _is_open(session: Session[Any], tool_call_id: str) -> bool:
    """Whether the log has a call of this id that did not come back; an id may be used again."""
    texts = Event.objects.filter(
        workspace_id=session.workspace.pk,
        thread_id=session.thread_id,
        run_id=session.run_id,
        type__in=("tool_called", "tool_returned"),
    ).values_list("type", "text")
    steps = Counter(kind for kind, text in texts if _call_of(text) == tool_call_id)
    return steps["tool_called"] > steps["tool_returned"]


def _call_of(text: str) -> str:
    id: str = from_json(text)["event"]["tool_call_id"]
    return id
