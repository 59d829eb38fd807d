"""The servers of a live measurement, ours and the bare one, each a daphne of its own.

Embedded, the writer is a thread of the server. With Redis it is in a second process of the same
application.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.live_control import Written
from tests.support.live import ROOT, Server, _wait_for, free_port
from tests.support.servers import redis

SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The server that has the sockets, and the one that writes."""

    sockets: Server
    writer: Server
    redis_url: str | None

    def url(self, workspace_id: str) -> str:
        return f"ws://127.0.0.1:{self.sockets.port}/ws/v1/workspaces/{workspace_id}/stream"

    def write(self, **arguments: Any) -> list[Written]:
        return [tuple(each) for each in asked(self.writer, "write", **arguments)]


def asked(server: Server, operation: str, **arguments: Any) -> Any:
    """Let a server do something, and wait for its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    try:
        connection.request("POST", f"/bench/{operation}", json.dumps(arguments))
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise RuntimeError(server.log.read_text()[-4000:])
        return json.loads(answer.read())
    finally:
        connection.close()


@contextmanager
def stands(*, has_redis: bool) -> Iterator[tuple[Stand, Stand]]:
    """Ours and the bare one."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="artifactr-live-")))
        redis_url = stack.enter_context(redis()) if has_redis else None
        processes = 2 if has_redis else 1
        site, floor = (
            [
                stack.enter_context(_started(application, folder, redis_url))
                for _ in range(processes)
            ]
            for application in ("live_site", "live_floor")
        )
        for server in (*site, *floor):
            _wait_for(server)
        ours, bare = (
            Stand(sockets=servers[0], writer=servers[-1], redis_url=redis_url)
            for servers in (site, floor)
        )
        yield ours, bare


@contextmanager
def _started(application: str, folder: Path, redis_url: str | None) -> Iterator[Server]:
    """Not yet answering, so that all may start at once."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "benchmarks.live_settings",
        "ARTIFACTR_STATE_DIR": str(folder),
    }
    if redis_url is not None:
        environment["REDIS_URL"] = redis_url
    port = free_port()
    log = folder / f"{application}-{port}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(port), "-v", "0",
                f"benchmarks.{application}:application",
            ],
            cwd=ROOT, env=environment,
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
    server = Server(port, process, log)
    try:
        yield server
    finally:
        server.stop()
