"""Live frames of runs in Redis streams, for watchers in any process.

The stream of a run has the numbers of its frames as ids, so order, resuming and holes come with
them. It uses the servers that the channel layer is configured with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer
from django.conf import settings as django_settings

from artifacts import conf

# A run that is silent for longer loses what came before; one that never ends is forgotten.
RUNNING_SECONDS = 3_600
READ_AT_ONCE = 500


class RedisStore:
    """One client for each event loop that reads or writes."""

    def __init__(self) -> None:
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    async def last_number(self, run: Any) -> int:
        entries = await self._client().xrevrange(_name(run), count=1)
        return _number(entries[0][0]) if entries else 0

    async def append(
        self, run: Any, frames: Sequence[tuple[int, str]], *, first_kept: int, is_ended: bool
    ) -> None:
        name = _name(run)
        seconds = conf.settings().LIVE_KEPT_SECONDS if is_ended else RUNNING_SECONDS
        async with self._client().pipeline(transaction=False) as pipe:
            for number, text in frames:
                pipe.xadd(name, {"f": text}, id=f"{number}-0")
            pipe.xtrim(name, minid=f"{first_kept}-0", approximate=False)
            pipe.expire(name, seconds)
            await pipe.execute()

    async def read(self, run: Any, *, after: int, wait_seconds: float) -> list[tuple[int, str]]:
        found = await self._client().xread(
            {_name(run): f"{after}-0"},
            count=READ_AT_ONCE,
            block=max(1, int(wait_seconds * 1000)) if wait_seconds else None,
        )
        if not found:
            return []
        # A list of pairs, or a dict with the newer wire protocol.
        entries = next(iter(found.values()))[0] if isinstance(found, dict) else found[0][1]
        return [(_number(id), _text(fields)) for id, fields in entries]

    async def aclose(self) -> None:
        """Let go of this loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose(close_connection_pool=True)

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = _connected()
        return client


def is_layer_in_redis() -> bool:
    """Whether other processes are reached by way of Redis, and not of something else."""
    return type(get_channel_layer()).__module__.startswith("channels_redis.")


def _connected() -> Any:
    # Imported here: a host with one process has neither package.
    import redis.asyncio
    from channels_redis.utils import create_pool, decode_hosts

    hosts = decode_hosts(_config().get("hosts"))
    return redis.asyncio.Redis(connection_pool=create_pool(hosts[0]))


def _name(run: Any) -> str:
    workspace_pk, run_id = run
    return f"{_config().get('prefix', 'asgi')}:live:{workspace_pk}:{run_id}"


def _config() -> dict[str, Any]:
    config: dict[str, Any] = django_settings.CHANNEL_LAYERS["default"].get("CONFIG", {})
    return config


def _number(id: bytes | str) -> int:
    text = id.decode() if isinstance(id, bytes) else id
    return int(text.partition("-")[0])


def _text(fields: dict[Any, Any]) -> str:
    [value] = fields.values()
    return value.decode() if isinstance(value, bytes) else str(value)
