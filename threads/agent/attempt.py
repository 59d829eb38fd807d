"""One attempt of a turn as it goes on: the port that the agent's capability calls.

Each step is written in one transaction with the history that belongs to it, so that whoever takes
the turn again after a crash knows exactly what was done and said.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from copy import copy
from typing import Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage

from artifacts import clock, core
from artifacts.core.events import AnyFact
from artifacts.pool import in_pool
from artifacts.workspace import LeaseLost, Workspace
from threads.services import news, steps
from threads.services.openings import Turn

from . import history
from .calls import logged_id
from .session import LiveChannel

OUTCOMES = {"ok": "success", "error": "failed", "retry": "retried"}
NAME_CHARS = 100
LOCK_SECONDS = 30.0


class ToolInDoubt(ToolFailed):
    """The approval of a call was used before: whether its tool took effect is not known."""


class Attempt:
    """What one attempt has written so far. Its steps follow each other; the last one closes it."""

    def __init__(
        self,
        turn: Turn,
        live: LiveChannel,
        *,
        id: str | None = None,
        open_calls: Iterable[ToolCallPart] = (),
    ) -> None:
        self.turn, self.live = turn, live
        # pydantic-ai's id of this attempt: a run of ours may have several.
        self.id = id or uuid.uuid4().hex
        self.taken = turn.taken
        self._stored = history.Stored(self.id, open_calls)
        self._seen_seq = turn.seen_seq
        self._lookout = news.Lookout(turn.workspace, turn.thread_pk, from_seq=turn.from_seq)
        self._untold = frozenset(each.seq for each in turn.messages)  # of the prompt
        self._begun: list[str] = []  # tool calls that did not come back
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_left = False
        self._lock = threading.Lock()
        self._is_closed = False

    # The port

    @property
    def workspace(self) -> Workspace:
        return self.turn.workspace

    async def around(
        self, ctx: RunContext[Any], handler: Callable[[], Awaitable[AgentRunResult[Any]]]
    ) -> AgentRunResult[Any]:
        self._note_task()
        return await handler()  # begun and ended from outside

    async def record(self, fact: AnyFact) -> None:
        await in_pool(self._step, lambda: self.turn.workspace.record(fact))

    async def before_request(
        self, ctx: RunContext[Any], request: ModelRequestContext, *, notices: bool = False
    ) -> ModelRequestContext:
        if self._is_own(ctx):
            self._note_task()
            brought = await in_pool(self._bring, list(ctx.messages), notices)
            # Stored already; what is queued here is delivered with this very request.
            for message in brought:
                ctx.enqueue(message)
        return request

    async def may_execute(self, call: ToolCallPart) -> None:
        may = await in_pool(
            self._step, lambda: steps.may_execute(self.turn, logged_id(call.tool_call_id))
        )
        if not may:
            raise ToolInDoubt(history.IN_DOUBT)

    async def tool_called(
        self, ctx: RunContext[Any], call: ToolCallPart, fact: core.ToolCalled
    ) -> None:
        messages = list(ctx.messages) if self._is_own(ctx) else []
        await in_pool(self._write, fact, lambda stored: stored.new(messages))
        self._begun.append(call.tool_call_id)

    async def tool_returned(
        self, ctx: RunContext[Any], call: ToolCallPart, fact: core.ToolReturned, content: Any
    ) -> None:
        part = _returned(call, fact, content) if self._is_own(ctx) else None
        await in_pool(self._write, fact, lambda stored: stored.returned(part) if part else [])
        if call.tool_call_id in self._begun:
            self._begun.remove(call.tool_call_id)

    # The end

    async def leave_tasks(self) -> None:
        """End what outlived the run: tasks of one that is cut short as they begin are left alone by
        pydantic-ai, and would wait for ever."""
        self._is_left = True
        left = [each for each in self._tasks if each is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def close(self) -> None:
        """Nothing more is written, not even by a tool that outlived its turn."""
        held = self._lock.acquire(timeout=LOCK_SECONDS)
        self._is_closed = True
        if held:
            self._lock.release()

    def rest(
        self, messages: Sequence[ModelMessage], keeps_open: Collection[str] = ()
    ) -> steps.Piece:
        """What history is not stored yet, with an answer to every call that has none."""
        stored = copy(self._stored)
        new = stored.new(messages)
        told = self._untold if new else ()
        open_calls = [
            each for each in stored.open_calls if logged_id(each.tool_call_id) not in keeps_open
        ]
        new += history.closing(open_calls, in_doubt=lambda call: call.tool_call_id in self._begun)
        return steps.Piece(history.packed(new), self._seen_seq, told)

    # Each of these is one step in a thread of the pool

    def _bring(self, messages: list[ModelMessage], notices: bool) -> list[ModelRequest]:
        """Store what the request sends and what it brings besides, and give the latter."""
        return self._step(lambda: self._brought(messages, notices))

    def _brought(self, messages: list[ModelMessage], notices: bool) -> list[ModelRequest]:
        found = self._lookout.look(
            after_seq=self._seen_seq,
            told=self.taken,
            notices=notices,
            # The notes that a turn starts with leave notices out.
            notices_after=self.turn.seen_before if self._untold else None,
        )
        brought = [self._request(workspace_changes(found.notes))] if found.notes else []
        brought += [self._request(_as_written(each)) for each in found.said]
        stored, seqs = copy(self._stored), {each.seq for each in found.said}
        new = [*stored.new(messages), *brought]
        stored.told(brought)
        piece = steps.Piece(history.packed(new), found.up_to_seq, self._untold | seqs)
        steps.store(self.turn, piece)
        self._lookout.told(found)
        self._stored, self._seen_seq = stored, found.up_to_seq
        self.taken, self._untold = self.taken | seqs, frozenset()
        return brought

    def _write(self, fact: AnyFact, added: Callable[[history.Stored], list[ModelMessage]]) -> None:
        self._step(lambda: self._written(fact, added))

    def _written(
        self, fact: AnyFact, added: Callable[[history.Stored], list[ModelMessage]]
    ) -> None:
        stored = copy(self._stored)
        new = added(stored)
        told = self._untold if new else frozenset()
        piece = steps.Piece(history.packed(new), self._seen_seq, told)
        self._lookout.wrote(steps.record(self.turn, fact, piece))
        # Only what was committed counts as stored.
        self._stored, self._untold = stored, self._untold - told

    def _step(self, write: Callable[[], Any]) -> Any:
        with self._lock:
            if self._is_closed:
                raise LeaseLost(f"run {self.turn.run_id} has ended")
            return write()

    def _note_task(self) -> None:
        task = asyncio.current_task()
        if self._is_left:  # it had not come this far when the run was left
            raise asyncio.CancelledError
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_own(self, ctx: RunContext[Any]) -> bool:
        """False for an agent that a tool runs: its messages are no part of this history."""
        return ctx.run_id == self.id

    def _request(self, content: str | list[str]) -> ModelRequest:
        return ModelRequest(
            parts=[UserPromptPart(content)],
            run_id=self.id,
            conversation_id=self.turn.thread.id,
            timestamp=clock.now(),
        )


def counted(usage: RunUsage) -> dict[str, int]:
    """What an attempt used, as the log tells it."""
    return {
        "requests": usage.requests,
        "tool_calls": usage.tool_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }


def workspace_changes(notes: str) -> str:
    return f"<workspace-changes>\n{notes}\n</workspace-changes>"


def _as_written(message: core.Envelope) -> list[str]:
    """A message that came during the run: who wrote it, and what."""
    assert isinstance(message.event, core.MessagePosted)
    name = " ".join(core.display_name(message.actor).split())[:NAME_CHARS]
    return [f"{name} wrote meanwhile:", message.event.content]


def _returned(call: ToolCallPart, fact: core.ToolReturned, content: Any) -> ToolReturnPart:
    """What a tool came back with, as the next request will carry it."""
    match content:
        case ToolReturnPart():
            return content
        case ToolReturn():
            content, metadata = content.return_value, content.metadata
        case _:
            metadata = None
    outcome: Any = OUTCOMES[fact.status]
    return ToolReturnPart(
        call.tool_name, content, call.tool_call_id, metadata=metadata, outcome=outcome
    )
