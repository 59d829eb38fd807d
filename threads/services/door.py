"""What a host calls: commands as every surface sends them, and turns to wait for or watch.

    handle = send(workspace, thread_id, "Add a section on pricing")
    answer = handle.wait(timeout_seconds=60)

Every message asks for a turn, through whichever door it comes; `send` only gives a handle besides.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from artifacts import core
from artifacts.core.commands import AnyCommand, StopRun
from artifacts.core.outcomes import AnyOutcome
from artifacts.core.protocol import Live, LiveEvent
from artifacts.pool import in_pool, twin
from artifacts.workspace import Workspace, on_append, poll_seconds
from threads import selectors
from threads.services.live import RunKey, store
from threads.services.turns import wake_thread
from threads.services.watching import stop_run

LOOK_SECONDS = 2.0
PAGE = 500
_live: TypeAdapter[Live] = TypeAdapter(Live)


def execute(
    workspace: Workspace,
    command: AnyCommand | StopRun,
    *,
    command_id: str | None = None,
    body_sha256: str | None = None,
) -> AnyOutcome:
    """Carry out a command, once under its id, whatever kind it is."""
    if isinstance(command, StopRun):
        return stop_run(workspace, command.run_id, command_id=command_id, body_sha256=body_sha256)
    return workspace.commit(command, command_id=command_id, body_sha256=body_sha256)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a turn ended or paused; `requests` are what a paused one waits for."""

    run_id: str
    status: Literal["completed", "stopped", "failed", "paused"]
    reply: str | None = None
    reason: str | None = None
    error: str | None = None
    requests: tuple[core.DeferredRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class Handle:
    """A message that was sent or a run that goes on: what came of it."""

    workspace: Workspace
    thread_id: str
    seq: int
    message_id: str | None = None
    run_id: str | None = None

    def wait(self, timeout_seconds: float | None = None) -> Answer:
        """The end or pause of the turn that took it, whichever process runs that."""
        replies: dict[str, str] = {}
        for envelope in self._events(timeout_seconds):
            event = envelope.event
            match event:
                case core.MessagePosted(run_id=str(run_id), content=content):
                    replies[run_id] = content
                case core.RunEnded() | core.RunPaused() if self._is_about(event.run_id):
                    return _answer(event, replies.get(event.run_id))
        raise AssertionError("the log does not end")

    async def await_answer(self, timeout_seconds: float | None = None) -> Answer:
        """The same for a coroutine."""
        return await in_pool(self.wait, timeout_seconds)

    def _is_about(self, run_id: str) -> bool:
        if self.run_id is not None:
            return run_id == self.run_id
        row = selectors.thread_row(self.workspace, self.thread_id)
        return selectors.is_taken(row, self.seq)

    def _events(self, timeout_seconds: float | None) -> Iterator[core.Envelope]:
        """What comes in the thread after it, until the time is over."""
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        appended = threading.Event()
        end = on_append(self.workspace.pk, lambda _: appended.set())
        after = self.seq
        try:
            while True:
                appended.clear()
                head = self.workspace.head_seq()
                page = self.workspace.read(
                    after_seq=after, threads=frozenset({self.thread_id}), limit=PAGE
                )
                for envelope in page:
                    after = envelope.seq
                    if envelope.thread_id == self.thread_id:
                        yield envelope
                if len(page) == PAGE:
                    continue
                after = max(after, head)
                wait = poll_seconds()
                if until is not None:
                    wait = min(wait, until - time.monotonic())
                if wait <= 0:
                    raise TimeoutError(f"no turn took it within {timeout_seconds} s")
                appended.wait(wait)
        finally:
            end()


def send(
    workspace: Workspace, thread_id: str, text: str, *, command_id: str | None = None
) -> Handle:
    """Say something in a thread, and get a handle on what comes of it."""
    command = core.PostMessage(thread_id=thread_id, content=text)
    outcome = workspace.commit(command, command_id=command_id)
    assert outcome.seq is not None, "a message has its place in the log"
    return Handle(workspace, thread_id, outcome.seq, message_id=command.message_id)


def resume(workspace: Workspace, run_id: str) -> Handle:
    """Have a paused run whose requests are all answered go on; that happens by itself too."""
    run = selectors.run(workspace, run_id)
    if not run.is_answered:
        waits = "still waits for answers" if run.status == "paused" else f"is {run.status}"
        raise core.InvalidState(f"this run {waits}")
    handle = Handle(workspace, run.thread_id, workspace.head_seq(), run_id=run_id)
    wake_thread(workspace.id, run.thread_id)
    return handle


def stop(workspace: Workspace, run_id: str, *, command_id: str | None = None) -> AnyOutcome:
    """Ask a run to stop, whichever process it is in."""
    return execute(workspace, StopRun(run_id=run_id), command_id=command_id)


async def watch(workspace: Workspace, run_id: str) -> AsyncIterator[LiveEvent]:
    """What a run produces, from what is kept of it on until it ends or pauses."""
    await in_pool(workspace.require, "watch_run", run_id)
    run, last = RunKey(workspace.pk, run_id), 0
    while True:
        # Asked first: what was sent before the run ended is then there to be read.
        is_over = (await in_pool(selectors.run, workspace, run_id)).status != "running"
        wait = 0.0 if is_over else LOOK_SECONDS
        found = await store().read(run, after=last, wait_seconds=wait)
        for last, text in found:  # noqa: B007 - it goes on from there
            yield _live.validate_json(text).event
        if is_over and not found:
            return


def _answer(event: core.RunEnded | core.RunPaused, reply: str | None) -> Answer:
    if isinstance(event, core.RunPaused):
        return Answer(event.run_id, "paused", requests=event.requests)
    return Answer(event.run_id, event.status, reply, event.reason, event.error)


aexecute, asend, aresume, astop = twin(execute), twin(send), twin(resume), twin(stop)
