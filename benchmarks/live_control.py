"""How a measured server is told to write: `POST /bench/NAME` runs a function of it in a thread.

Times are those of `time.perf_counter`, which is one clock for all processes of a Linux machine.
"""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[Any]]
# Of one event: its seq, when it was asked for, when it was committed.
Written = tuple[int, float, float]

PREFIX = "/bench/"
FILES = 8_192


def controlled(
    application: Application, operations: Mapping[str, Callable[..., Any]]
) -> Application:
    """Wrap an ASGI application."""
    let_many_files()

    async def control(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await application(scope, receive, send)
            return
        operation = operations[scope["path"].removeprefix(PREFIX)]
        arguments = json.loads((await receive())["body"])
        answer = await asyncio.to_thread(operation, **arguments)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    return control


def let_many_files() -> None:
    """A socket is a file, and the usual bound is below what is measured."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def paced(count: int, pause: float) -> Iterator[int]:
    """So many turns, one every `pause` seconds, or at once after a slower one."""
    for turn in range(count):
        began = time.perf_counter()
        yield turn
        time.sleep(max(0.0, began + pause - time.perf_counter()))
