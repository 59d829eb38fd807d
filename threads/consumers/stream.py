"""One socket of `artifactr.v1`: who may open it, what it reads, what it answers.

One task reads, one writes, each command is a task of its own; everything that goes out passes
through one bounded outbox. What a command means is the door's business.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from django.db import Error as DatabaseError
from opentelemetry.trace import Span
from pydantic_core import to_json

from artifacts import conf
from artifacts.core.commands import StopRun, WatchRun
from artifacts.core.errors import ArtifactrError, Rejection, Unavailable
from artifacts.core.outcomes import AnyOutcome, Recorded
from artifacts.core.protocol import PROTOCOL, CommandFrame, ErrorFrame, ReplayComplete, Welcome
from artifacts.pool import in_pool
from artifacts.surfaces.commands import carry_out, result_of
from artifacts.workspace import CommandRunning, Workspace
from threads import selectors
from threads.consumers import frames, origins
from threads.consumers.pacing import TEXTS, Send
from threads.surfaces import closing
from threads.surfaces.admissions import Admission, Credential, connection_span, opened
from threads.surfaces.closing import BAD_HELLO, BROKEN, HELLO_TIMEOUT, REFUSED
from threads.surfaces.events import event_frame
from threads.surfaces.hub import hub
from threads.surfaces.outbox import Outbox
from threads.surfaces.subscription import Greeting, Start, Subscription

logger = logging.getLogger("artifactr.stream")

KEY_PROTOCOL = "artifactr.key."
# How long a client that was cut may take to read that it was.
CLOSE_SECONDS = 30.0
CLOSE_CODE = "artifactr.connection.close_code"
RUNNING_SECONDS, RUNNING_STEP = 10.0, 0.05

Message = dict[str, Any]


async def stream(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Send,
) -> None:
    """The ASGI application: open, serve, close."""
    await receive()  # websocket.connect
    authorization = _authorization(scope)
    if authorization is None and not origins.is_trusted(scope):
        await send({"type": "websocket.close"})  # before accepting: HTTP 403
        return
    spoken = PROTOCOL if PROTOCOL in scope.get("subprotocols", ()) else None
    await send({"type": "websocket.accept", "subprotocol": spoken})
    session = scope.get("session")
    credential = Credential(
        source=scope,
        authorization=authorization,
        user=scope.get("user"),
        session_key=None if session is None else session.session_key,
    )
    try:
        admission = await in_pool(opened, credential, scope["url_route"]["kwargs"]["workspace_id"])
    except ArtifactrError as error:
        if error.code not in closing.OF_ERROR:
            raise
        await send({"type": "websocket.close", "code": closing.OF_ERROR[error.code]})
        return
    except DatabaseError:
        logger.warning("a socket could not be opened", exc_info=True)
        await send({"type": "websocket.close", "code": BROKEN})
        return
    await Socket(admission, receive, send, _texts_to(scope, send)).serve()


def _texts_to(scope: Message, send: Send) -> Callable[[list[str]], Awaitable[None]]:
    """How text frames are sent: together where the server can, else one by one."""
    together: Callable[[list[str]], Awaitable[None]] | None
    if together := scope.get("extensions", {}).get(TEXTS):
        return together

    async def one_by_one(texts: list[str]) -> None:
        for text in texts:
            await send({"type": "websocket.send", "text": text})

    return one_by_one


def _authorization(scope: Message) -> str | None:
    """The header, or what a browser, which cannot set one, offers as a subprotocol."""
    given = origins.header(scope, "authorization")
    for offered in scope.get("subprotocols", ()):
        if given is None and offered.startswith(KEY_PROTOCOL):
            given = f"Bearer {offered.removeprefix(KEY_PROTOCOL)}"
    return given


class Socket:
    """An accepted connection of somebody who may be here."""

    def __init__(
        self,
        admission: Admission,
        receive: Callable[[], Awaitable[Message]],
        send: Send,
        send_texts: Callable[[list[str]], Awaitable[None]],
    ) -> None:
        settings = conf.settings()
        self.admission = admission
        self._receive, self._send, self._send_texts = receive, send, send_texts
        self._outbox = Outbox()
        self._subscription = Subscription(
            hub(), admission, self._outbox, event_frame, watches_runs=True
        )
        self._following: asyncio.Task[None] | None = None
        self._work: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(settings.COMMANDS_AT_ONCE)
        self._most_commands = settings.COMMANDS_AT_ONCE + settings.COMMANDS_WAITING
        self._commands = 0

    # As the hub sees it

    def keep(self, admission: Admission) -> None:
        self.admission = admission
        self._subscription.keep(admission)

    def end(self, code: int) -> None:
        self._outbox.close(code)

    # Its life

    async def serve(self) -> None:
        with connection_span(self.admission, "websocket") as span:
            try:
                async with hub().connected(self):
                    await self._until_closed(span)
            except Rejection as rejection:  # too many connections
                span.set_attribute(CLOSE_CODE, REFUSED)
                self._refuse(REFUSED, rejection.message)
                await self._write()

    async def _until_closed(self, span: Span) -> None:
        reading, writing, stuck = (
            asyncio.create_task(each) for each in (self._read(), self._write(), self._stuck())
        )
        tasks = [reading, writing, stuck]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            code, is_stuck = self._outbox.code, stuck.done()
            if code is not None:  # else it was the client that left
                span.set_attribute(CLOSE_CODE, code)
            self._outbox.close(BROKEN)
            if self._following is not None:
                tasks.append(self._following)
            for task in tasks:
                task.cancel()
            # Commands that have begun are carried through: their sender may ask again.
            await asyncio.gather(*tasks, *self._work, return_exceptions=True)
        if is_stuck:
            await self._send({"type": "websocket.close", "code": code})
        for task in tasks:
            if not task.cancelled():
                task.result()

    async def _stuck(self) -> None:
        """A client that reads nothing does not even let go: its socket is closed over its head."""
        await self._outbox.closed.wait()
        await asyncio.sleep(CLOSE_SECONDS)

    def _refuse(self, code: int, message: str) -> None:
        self._error(message)
        self._outbox.close(code, after_frames=True)

    # Writing

    async def _write(self) -> None:
        while texts := await self._outbox.get():
            await self._send_texts(texts)
            if len(texts) > 1:  # after a single one there is nothing more to write just now
                await asyncio.sleep(0)
        await self._send({"type": "websocket.close", "code": self._outbox.code})

    def _say(self, frame: Any) -> None:
        self._outbox.offer(frame.model_dump_json(exclude_none=True))

    def _error(self, message: str) -> None:
        self._say(ErrorFrame(message=message))

    # Reading

    async def _read(self) -> None:
        while (message := await self._next())["type"] != "websocket.disconnect":
            if self._outbox.is_closed:
                continue
            if self._following is None:
                self._hello(message)
            else:
                self._take(message)

    async def _next(self) -> Message:
        if self._following is not None or self._outbox.is_closed:
            return await self._receive()
        try:
            async with asyncio.timeout(conf.settings().HELLO_SECONDS):
                return await self._receive()
        except TimeoutError:
            self._outbox.close(HELLO_TIMEOUT)
            return await self._receive()

    def _hello(self, message: Message) -> None:
        try:
            start = frames.read_hello(message)
        except Rejection as rejection:
            self._refuse(BAD_HELLO, rejection.message)
        else:
            self._following = asyncio.create_task(self._follow(start))

    async def _follow(self, start: Start) -> None:
        try:
            await self._subscription.run(start, greet=self._greet, arrived=self._arrived)
        except ArtifactrError as error:
            self._outbox.close(closing.OF_ERROR.get(error.code, BROKEN))
        except Exception:
            logger.exception("a subscription failed")
            self._outbox.close(BROKEN)

    def _greet(self, greeting: Greeting) -> None:
        welcome = Welcome(
            workspace_id=self.admission.workspace.id,
            head_seq=greeting.head_seq,
            reset=greeting.reset,
            active_runs=greeting.active_runs,
        )
        self._say(welcome)

    def _arrived(self, seq: int) -> None:
        self._say(ReplayComplete(up_to_seq=seq))

    def _take(self, message: Message) -> None:
        try:
            frame = frames.read_command(message)
        except frames.BadCommand as bad:
            self._answer(bad.command_id, {"ok": False, "rejection": bad.rejection.payload()})
        except Rejection as rejection:
            self._error(rejection.message)
        else:
            self._begin(frame)

    # Commands

    def _begin(self, frame: CommandFrame) -> None:
        # What stops or watches a run is let past the commands that wait.
        is_aside = isinstance(frame.command, StopRun | WatchRun)
        waiting = len(self._work) // 2 if is_aside else self._commands
        if waiting >= self._most_commands:
            busy = Unavailable(f"more than {self._most_commands} commands wait")
            self._answer(frame.command_id, {"ok": False, "rejection": busy.payload()})
            return
        task = asyncio.create_task(self._carried_through(self._work_of(frame)))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _work_of(self, frame: CommandFrame) -> Coroutine[Any, Any, Any]:
        match frame.command:
            case StopRun():
                return self._done(frame, partial(_carried_out, frame=frame))
            case WatchRun():
                return self._watch(frame)
        self._commands += 1
        return self._commit(frame)

    async def _carried_through(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Exception:
            logger.exception("a command failed")
            self._outbox.close(BROKEN)

    async def _commit(self, frame: CommandFrame) -> None:
        try:
            async with self._slots, hub().commands:
                if not self._outbox.is_closed:
                    await self._done(frame, partial(_carried_out, frame=frame))
        finally:
            self._commands -= 1

    async def _done(self, frame: CommandFrame, call: Callable[[Workspace], AnyOutcome]) -> bool:
        """Carry a command out and say what became of it; whether it was done."""
        until = time.monotonic() + RUNNING_SECONDS
        while True:
            members, error = await in_pool(result_of, partial(call, self.admission.workspace))
            # Waiting here, for the first attempt of this command, takes no thread.
            if not isinstance(error, CommandRunning) or time.monotonic() > until:
                break
            await asyncio.sleep(RUNNING_STEP)
        self._answer(frame.command_id, members)
        return error is None

    async def _watch(self, frame: CommandFrame) -> None:
        assert isinstance(frame.command, WatchRun)
        run_id, is_over = frame.command.run_id, False

        def looked_up(workspace: Workspace) -> AnyOutcome:
            nonlocal is_over
            workspace.require("watch_run", run_id)
            is_over = selectors.run(workspace, run_id).has_ended
            return Recorded(run_id=run_id)

        if await self._done(frame, looked_up):
            self._subscription.watch(run_id, is_over=is_over)

    def _answer(self, command_id: str, members: dict[str, Any]) -> None:
        answer = {"type": "command_result", "command_id": command_id, **members}
        self._outbox.offer(to_json(answer).decode())


def _carried_out(workspace: Workspace, *, frame: CommandFrame) -> AnyOutcome:
    assert not isinstance(frame.command, WatchRun)
    return carry_out(workspace, frame.command, command_id=frame.command_id)
