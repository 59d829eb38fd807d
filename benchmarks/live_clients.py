"""The clients of all measurements, in one process of their own: `websockets` on asyncio.

It is told what to do by JSON lines. A frame is stamped where it comes off the wire and goes no
further, so that the clients take as little of the machine as they can.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import Frame, Opcode

from benchmarks.live_control import let_many_files

EVENT, COMPLETE = b'{"type":"event","seq":', b'{"type":"replay_complete"'
AT_ONCE = 20
PATIENCE = 60.0

# When each event came, at whichever socket.
Arrivals = dict[int, list[float]]

_arrivals: Arrivals = {}


class Socket(ClientConnection):
    """Stamps events; nobody reads from it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_live = asyncio.Event()

    def process_event(self, event: Any) -> None:
        if not isinstance(event, Frame) or event.opcode is not Opcode.TEXT:
            super().process_event(event)
            return
        data = bytes(event.data)
        if data.startswith(EVENT):
            seq = int(data[len(EVENT) : data.index(b",", len(EVENT))])
            _arrivals.setdefault(seq, []).append(time.perf_counter())
        elif data.startswith(COMPLETE):
            self.is_live.set()


async def _opened(url: str, key: str, hello: str, slots: asyncio.Semaphore) -> tuple[Any, float]:
    """A socket that is live, and how many seconds passed from its hello to there."""
    async with slots:
        socket: Any = await connect(
            url, additional_headers={"Authorization": f"Bearer {key}"}, compression=None,
            create_connection=Socket, proxy=None, max_size=None, ping_interval=None,
            open_timeout=PATIENCE, close_timeout=PATIENCE,
        )  # fmt: skip
        began = time.perf_counter()
        await socket.send(hello)
        await asyncio.wait_for(socket.is_live.wait(), PATIENCE)
        return socket, time.perf_counter() - began


async def _gathered(expected: int) -> Arrivals:
    until = time.monotonic() + PATIENCE
    while (came := sum(map(len, _arrivals.values()))) < expected:
        if time.monotonic() > until:
            raise TimeoutError(f"{came} of {expected} events came")
        await asyncio.sleep(0.05)
    found = dict(_arrivals)
    _arrivals.clear()
    return found


async def _serve() -> None:
    sockets: list[Any] = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        answer: Any = None
        if "open" in order:
            slots = asyncio.Semaphore(AT_ONCE)
            asked = (_opened(url, order["key"], order["hello"], slots) for url in order["open"])
            opened = await asyncio.gather(*asked)
            sockets += [socket for socket, _ in opened]
            answer = [seconds for _, seconds in opened]
        elif "gather" in order:
            answer = await _gathered(order["gather"])
        else:
            await asyncio.gather(*(socket.close() for socket in sockets))
            sockets.clear()
        print(json.dumps(answer), flush=True)


class Clients:
    """The process as its user sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Clients]:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.live_clients"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            yield cls(process)
        finally:
            process.kill()
            process.wait()

    def open(self, urls: list[str], *, key: str, hello: dict[str, Any]) -> list[float]:
        """Open a socket for each and wait until it is live; the seconds that took."""
        seconds: list[float] = self._told(open=urls, key=key, hello=json.dumps(hello))
        return seconds

    def gather(self, expected: int) -> Arrivals:
        """What came since the last time, once it is so many."""
        found = self._told(gather=expected)
        return {int(seq): times for seq, times in found.items()}

    def close(self) -> None:
        self._told(close=True)

    def _told(self, **order: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the clients have ended; the reason is above")
        return json.loads(line)


if __name__ == "__main__":
    let_many_files()
    gc.disable()
    asyncio.run(_serve())
