"""The bare server: hands texts to every socket, with no database and no product.

Without REDIS_URL they come from a thread of its own process; with it, from Redis pub/sub, to which
any process that runs this may publish.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import AsyncIterator
from typing import Any

import redis
import redis.asyncio

from benchmarks.live_control import Message, Receive, Send, Written, controlled, paced

REDIS_URL = os.environ.get("REDIS_URL")
CHANNEL = "bench.floor"

_publisher: Any = redis.Redis.from_url(REDIS_URL) if REDIS_URL else None
_sockets: dict[Send, None] = {}
_seqs = itertools.count(1)
_loop: asyncio.AbstractEventLoop
_subscribed = asyncio.Event()
_listening: asyncio.Task[None] | None = None


async def sockets(scope: Message, receive: Receive, send: Send) -> None:
    """Answer the first frame with as many texts as it asks for, then hand on what comes."""
    global _loop  # noqa: PLW0603 - one per process
    _loop = asyncio.get_running_loop()
    await receive()
    await send({"type": "websocket.accept"})
    await _listen()
    hello = json.loads((await receive())["text"])
    for seq in range(1, hello.get("replay", 0) + 1):
        await send({"type": "websocket.send", "text": frame(seq, hello["chars"])})
    await send({"type": "websocket.send", "text": '{"type":"replay_complete"}'})
    _sockets[send] = None
    while (await receive())["type"] != "websocket.disconnect":
        pass
    del _sockets[send]


def frame(seq: int, chars: int) -> str:
    """Looks like an event's frame to a client, and is as long."""
    return f'{{"type":"event","seq":{seq},"text":"{"x" * chars}"}}'


def write(*, count: int, pause: float, chars: int) -> list[Written]:
    """Send so many texts to all sockets."""
    written = []
    for _ in paced(count, pause):
        seq = next(_seqs)
        text, now = frame(seq, chars), time.perf_counter()
        if _publisher is None:
            asyncio.run_coroutine_threadsafe(_hand_on(text), _loop)
        else:
            _publisher.publish(CHANNEL, text)
        written.append((seq, now, now))
    return written


async def _hand_on(text: str) -> None:
    for send in tuple(_sockets):
        await send({"type": "websocket.send", "text": text})


async def _listen() -> None:
    global _listening  # noqa: PLW0603 - one per process
    if REDIS_URL is not None and _listening is None:
        pubsub = redis.asyncio.Redis.from_url(REDIS_URL).pubsub()
        _listening = asyncio.create_task(_forward(pubsub))
    if REDIS_URL is not None:
        await _subscribed.wait()


async def _forward(pubsub: Any) -> None:
    await pubsub.subscribe(CHANNEL)
    _subscribed.set()
    messages: AsyncIterator[dict[str, Any]] = pubsub.listen()
    async for message in messages:
        if message["type"] == "message":
            await _hand_on(message["data"].decode())


application = controlled(sockets, {"write": write})
