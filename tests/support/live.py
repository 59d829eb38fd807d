"""Real servers and clients of the live protocol.

A server is daphne in a process of its own, on the test's database; a client is the `websockets`
package's. Writes that a test makes itself are therefore those of another process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
PATIENCE = 60.0

CORE = "channels_redis.core.RedisChannelLayer"
PUBSUB = "channels_redis.pubsub.RedisPubSubChannelLayer"


def layers(backend: str, redis_url: str, *, prefix: str, **config: Any) -> dict[str, Any]:
    """CHANNEL_LAYERS in Redis."""
    host = {"address": redis_url, "max_connections": 1000}
    return {
        "default": {"BACKEND": backend, "CONFIG": {"hosts": [host], "prefix": prefix, **config}}
    }


@dataclass
class Server:
    """A running daphne."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory_kb(self) -> int:
        """Resident memory."""
        command = ["ps", "-o", "rss=", "-p", str(self.process.pid)]
        return int(subprocess.run(command, capture_output=True, check=True).stdout)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()


@contextmanager
def serving(
    folder: Path,
    *,
    channel_layers: dict[str, Any] | None = None,
    port: int | None = None,
    variables: dict[str, str] | None = None,
    **artifactr: Any,
) -> Iterator[Server]:
    """Daphne on the test's database until the block ends."""
    port = port or free_port()
    log = folder / f"daphne-{port}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(port), "-v", "0",
                "artifactr_site.asgi:application",
            ],
            cwd=ROOT, env={**environment(folder, channel_layers, artifactr), **(variables or {})},
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
    server = Server(port, process, log)
    try:
        _wait_for(server)
        yield server
    finally:
        if process.poll() is None:
            server.stop()


def environment(
    folder: Path, channel_layers: dict[str, Any] | None, artifactr: dict[str, Any]
) -> dict[str, str]:
    """What a process of the site needs to work on the test's database.

    It takes no turns unless it is told to: a run that a test has begun, and that nobody holds,
    would be ended, and a message answered by the offline model.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "DJANGO_SETTINGS_MODULE": "tests.e2e.site_settings",
        "DJANGO_SECRET_KEY": settings.SECRET_KEY,
        "ARTIFACTR_STATE_DIR": str(folder),
        "DATABASE_URL": _database_url(),
        "E2E_ARTIFACTR": json.dumps({"EXECUTOR": "celery", **artifactr}),
        "E2E_CHANNEL_LAYERS": json.dumps(channel_layers or settings.CHANNEL_LAYERS),
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def narrow(server: Server) -> socket.socket:
    """A connection whose reader's buffer is small, so that not reading is soon felt."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    made.connect(("127.0.0.1", server.port))
    return made


def _database_url() -> str:
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{quote(str(values['NAME']))}"
    user = quote(values["USER"]) + (f":{quote(values['PASSWORD'])}" if values["PASSWORD"] else "")
    host = values["HOST"]
    if host.startswith("/"):  # a socket in the file system
        return f"postgresql://{user}@/{values['NAME']}?host={quote(host)}&port={values['PORT']}"
    return f"postgresql://{user}@{host}:{values['PORT']}/{values['NAME']}"


def _wait_for(server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
        except OSError:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(server.log.read_text()[-4000:]) from None
            time.sleep(0.05)
        else:
            return


@dataclass
class Client:
    """One socket, and every frame it was sent."""

    connection: ClientConnection
    frames: list[dict[str, Any]] = field(default_factory=list)

    def send(self, frame: Any) -> None:
        self.connection.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))

    def hello(self, **members: Any) -> dict[str, Any]:
        """Say hello; the welcome."""
        self.send({"type": "hello", "protocol": "artifactr.v1", **members})
        return self.next("welcome")

    def live(self, **members: Any) -> list[dict[str, Any]]:
        """Say hello and take the whole replay; its events."""
        self.hello(**members)
        return self.events_until_live()

    def events_until_live(self) -> list[dict[str, Any]]:
        events = []
        while (frame := self.receive())["type"] != "replay_complete":
            events.append(frame)
        return events

    def receive(self, seconds: float = PATIENCE) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self.connection.recv(seconds))
        self.frames.append(frame)
        return frame

    def next(self, *types: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """The next frame of these types; others are passed over."""
        until = time.monotonic() + seconds
        while True:
            frame = self.receive(until - time.monotonic())
            if frame["type"] in types:
                return frame

    def events(self, *, up_to: int, seconds: float = PATIENCE) -> list[int]:
        """Seqs of the events until this one came."""
        seqs: list[int] = []
        until = time.monotonic() + seconds
        while not seqs or seqs[-1] < up_to:
            seqs.append(self.next("event", seconds=until - time.monotonic())["seq"])
        return seqs

    def types(self) -> list[str]:
        """The types of the events so far."""
        return [frame["event"]["type"] for frame in self.frames if frame["type"] == "event"]

    def command(self, command_id: str, command: dict[str, Any]) -> None:
        self.send({"type": "command", "command_id": command_id, "command": command})

    def result(self, command_id: str, command: dict[str, Any]) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self.command(command_id, command)
        while True:
            answer = self.next("command_result")
            if answer["command_id"] == command_id:
                return answer

    def is_silent(self, seconds: float = 0.3) -> bool:
        try:
            self.receive(seconds)
        except TimeoutError:
            return True
        return False

    def close_code(self, seconds: float = PATIENCE) -> int | None:
        """Read until the server closes; its code."""
        until = time.monotonic() + seconds
        try:
            while True:
                self.receive(until - time.monotonic())
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


@contextmanager
def client(
    server: Server,
    workspace_id: str,
    *,
    key: str | None = None,
    session: str | None = None,
    origin: str | None = None,
    subprotocols: list[str] | None = None,
    additional: dict[str, str] | None = None,
    max_queue: int | None = None,
    **options: Any,
) -> Iterator[Client]:
    """A socket to a workspace's stream, by an API key or by a session's cookie.

    With `max_queue`, it takes no more frames off the wire than the test has asked for.
    """
    headers = {**(additional or {})}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    if session:
        headers["Cookie"] = f"{settings.SESSION_COOKIE_NAME}={session}"
    url = f"ws://127.0.0.1:{server.port}/ws/v1/workspaces/{workspace_id}/stream"
    with connect(
        url, additional_headers=headers, origin=None if origin is None else Origin(origin),
        subprotocols=None if subprotocols is None else [Subprotocol(each) for each in subprotocols],
        compression=None, open_timeout=PATIENCE, close_timeout=2, max_size=None, proxy=None,
        max_queue=max_queue, ping_interval=None,
        **options,
    ) as opened:  # fmt: skip
        yield Client(opened)
