"""`manage.py chat` in a real terminal: text above the line that is being typed."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from artifacts import core
from tests.e2e.conftest import Place
from tests.support import live
from tests.support.sites import wait_until

pytestmark = pytest.mark.once  # the database is the same behind it
HERE = {"EXECUTOR": "threads", "AGENTS": {"default": "tests.e2e.streaming.agent"}}
SEQUENCES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>()][A-Z0-9]?|\][^\x07]*\x07)")


class Terminal:
    """What a person sees, and types into."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = b""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # the other end is closed
            while data := os.read(self._descriptor, 4096):
                self._seen += data

    @property
    def shown(self) -> str:
        return SEQUENCES.sub("", self._seen.decode(errors="replace")).replace("\r", "")

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())


@contextmanager
def chatting(place: Place, folder: Path) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    ours, theirs = pty.openpty()
    environment = {**live.environment(folder, None, HERE), "TERM": "xterm", "COLUMNS": "8"}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "chat", place.id],
        cwd=live.ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    terminal = Terminal(ours)
    try:
        yield terminal, process
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        terminal.reader.join(60)


def test_a_conversation_while_the_agent_works(place: Place, tmp_path: Path) -> None:
    place.person("ana", "editor")
    thread_id = place.open_thread("Planning")
    with chatting(place, tmp_path) as (terminal, process):
        wait_until(lambda: "you>" in terminal.shown)
        terminal.type("go-on\r")
        # The agent is in the middle of its answer, and the person may type.
        wait_until(lambda: "One two" in terminal.shown)
        terminal.type("Thank you\r")
        wait_until(lambda: "Thank you" in said(place))
        assert "three." not in terminal.shown
        (tmp_path / "go-on").touch()
        wait_until(lambda: "three." in terminal.shown)
        wait_until(lambda: said(place)[2:3] == ["One two three."])
        terminal.type("\x04")
        assert process.wait(60) == 0
    types = [each.event.type for each in place.workspace.read() if each.thread_id == thread_id]
    assert types.index("run_started") < types.index("run_ended")


def said(place: Place) -> list[str]:
    return [
        each.event.content
        for each in place.workspace.read()
        if isinstance(each.event, core.MessagePosted)
    ]
