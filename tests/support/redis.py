"""A Redis of a test's own, that it may stop, start again and empty."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.support import servers
from tests.support.live import free_port

SECONDS = 20


class RedisServer:
    """Keeps nothing on disk, so a start is always an empty one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self._binary = servers._redis_binary(folder)
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[RedisServer]:
        with servers._folder("artifactr-redis-") as folder:
            made = cls(folder)
            made.start()
            try:
                yield made
            finally:
                made.stop()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}"

    def start(self) -> None:
        command = [
            self._binary, "--bind", "127.0.0.1", "--port", self._port, "--dir", self._folder,
            "--save", "", "--appendonly", "no",
        ]  # fmt: skip
        self._process = servers._start(command, self._folder)
        until = time.monotonic() + SECONDS
        while True:
            try:
                with redis.Redis.from_url(self.url) as client:
                    client.ping()
            except redis.RedisError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def flush(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()
