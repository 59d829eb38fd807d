"""A site of its own for an end-to-end test: an empty database, an environment, real processes."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 120


@dataclass(frozen=True)
class Site:
    """The environment in which every process of one site runs."""

    environment: dict[str, str]
    folder: Path

    def manage(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a management command to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )

    @contextmanager
    def running(self, *command: str) -> Iterator["Running"]:
        """Run a process beside the test, stopped by its own id at the end."""
        log = self.folder / f"{secrets.token_hex(4)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        running = Running(process, log)
        try:
            yield running
        finally:
            running.stop()


@dataclass(frozen=True)
class Running:
    """A process and what it has printed."""

    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        """Wait until it has printed this."""
        wait_until(lambda: text in self.output or self.process.poll() is not None)
        assert text in self.output, self.output

    def stop(self) -> int:
        """Ask it to end, and end it if it does not; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def site(folder: Path, *, redis_url: str | None = None) -> Iterator[Site]:
    """A site on an empty database of the kind that this run tests."""
    names = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "ARTIFACTR_MODEL", "DEBUG")
    environment = {key: value for key, value in os.environ.items() if key not in names}
    environment["ARTIFACTR_STATE_DIR"] = str(folder / "state")
    if redis_url:
        environment["REDIS_URL"] = redis_url
    server = os.environ.get("DATABASE_URL")
    if server is None:
        yield Site(environment, folder)
        return
    with _database(server) as url:
        yield Site({**environment, "DATABASE_URL": url}, folder)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@contextmanager
def _database(server: str) -> Iterator[str]:
    name = f"site_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
