"""When agents are made to be checked: as a site is set up or served, and not in passing."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support import live

PATH = "tests.threads.agents_of_a_check.make"
IN_PASSING = ["shell", "-c", "1"]
WORKER = ["-A", "artifactr_site", "-b", "memory://", "worker", "-P", "solo"]


def command(folder: Path, *arguments: str) -> tuple[str, bool]:
    """What a command of the site's says, and whether it made the agent."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=live.ROOT, env=environment(folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr, (folder / "made").exists()


def environment(folder: Path) -> dict[str, str]:
    named = {"AGENTS": {"default": PATH}, "EXECUTOR": "threads"}
    return {**live.environment(folder, None, named), "MADE_MARK": str(folder / "made")}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments", [["manage.py", "check"], ["-m", "django", "check"]], ids=lambda each: each[-2]
)
def test_a_check_refuses_an_agent_that_cannot_wait(tmp_path: Path, arguments: list[str]) -> None:
    said, is_made = command(tmp_path, *arguments)
    assert "artifactr.E020" in said
    assert is_made


@pytest.mark.django_db
def test_a_worker_tells_it_as_it_starts(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "celery", *WORKER],
        cwd=live.ROOT, env=environment(tmp_path), stderr=subprocess.STDOUT, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    try:
        assert any("artifactr.E020" in line for line in process.stdout), "it said nothing of it"
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.django_db
@pytest.mark.parametrize("program", [["manage.py"], ["-m", "django"]], ids=lambda each: each[-1])
def test_a_command_that_passes_by_makes_no_agent(tmp_path: Path, program: list[str]) -> None:
    said, is_made = command(tmp_path, *program, *IN_PASSING)
    assert "artifactr.E020" not in said
    assert not is_made
