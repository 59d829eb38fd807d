"""`manage.py follow` prints the log live and goes on where it was."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

from django.db import connection

from tests.e2e.conftest import Place, is_postgresql
from tests.support import live

# No other process takes its tasks, so that no check warns of the channel layer.
ALONE = {"EXECUTOR": "threads"}


@contextmanager
def following(place: Place, folder: Path, *options: str) -> Iterator[Queue[str]]:
    """The lines that the command prints, as they come."""
    environment = {
        **live.environment(folder, None, ALONE),
        "PYTHONUNBUFFERED": "1",
        "PGAPPNAME": "follow",
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "follow", place.id, *options],
        cwd=live.ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    lines: Queue[str] = Queue()
    assert process.stdout is not None
    output = process.stdout

    def read() -> None:
        for line in output:
            lines.put(line.rstrip("\n"))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield lines
    finally:
        process.terminate()
        process.wait()
        reader.join()
        output.close()


def test_it_prints_what_was_and_what_comes(place: Place, tmp_path: Path) -> None:
    place.say("a", "b")
    with following(place, tmp_path, "--after", "1") as lines:
        assert lines.get(timeout=60) == "2 tests app_event: said"
        thread_id = place.open_thread("Launch")
        assert lines.get(timeout=60) == "3 Ana thread_created: opened “Launch”"
        assert thread_id
        if is_postgresql():
            _cut_its_connection()
            place.say("c")
            found = [lines.get(timeout=60)]
            while not found[-1].startswith("4 "):
                found.append(lines.get(timeout=60))
            assert found[-1] == "4 tests app_event: said"
            assert any("trying again" in line for line in found)


def _cut_its_connection() -> None:
    """As a restart of the database does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'follow'"
        )


def test_an_unknown_workspace_is_said_in_one_line(place: Place, tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "manage.py", "follow", "wsp_unknown"],
        cwd=live.ROOT, env=live.environment(tmp_path, None, ALONE), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert answer.returncode == 1
    assert answer.stderr == "CommandError: there is no workspace with this id here\n"
    assert os.path.sep not in answer.stdout
