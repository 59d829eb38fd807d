"""Celery workers that are killed or told to end, anywhere in a turn: the turn is done, once.

Real worker processes, a real broker and a real beat on the test's own database. Whoever dies is
replaced, as a supervisor would.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from artifacts import core
from tests.e2e.conftest import Place, with_redis
from tests.support import live
from tests.support.sites import wait_until
from threads import models, selectors
from threads.services import watching

POINTS = (
    "claimed", "started", "first_request", "call_unwritten", "before_the_effect",
    "after_the_effect", "return_written", "second_request", "before_the_end", "after_the_end",
)  # fmt: skip
# Only here may the effect be missing: nobody can know, so nobody repeats it.
IN_DOUBT = {"before_the_effect", "after_the_effect"}
TAKES_TURNS: dict[str, Any] = {
    "EXECUTOR": "threads",
    "AGENTS": {"default": "tests.e2e.dying.agent"},
}


@dataclass
class Workers:
    """Celery processes of one site, by name; a worker that is gone is started again."""

    folder: Path
    environment: dict[str, str]
    children: int = 1
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{name}.log").open("ab")
        if name in self.processes:  # what a killed parent left of its group
            with suppress(ProcessLookupError):
                os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "artifactr_site", *command],
            cwd=live.ROOT, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        log.close()
        return self.processes[name]

    def worker(self, name: str) -> subprocess.Popen[bytes]:
        node = f"{name}-{secrets.token_hex(3)}@test"
        return self.start(
            name, "worker", "-n", node, "-c", str(self.children), "-l", "INFO",
            "--without-mingle", "--without-gossip",
        )  # fmt: skip

    def beat(self) -> None:
        self.start("beat", "beat", "-s", str(self.folder / "beat"), "--pidfile=", "-l", "WARNING")

    def replace_the_dead(self) -> None:
        for name, process in list(self.processes.items()):
            if name != "beat" and process.poll() is not None:
                self.worker(name)

    def output(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(
            f"== {log.name}\n{log.read_text(errors='replace')[-6000:]}" for log in logs
        )

    def end(self) -> None:
        for process in self.processes.values():
            # Each start made a group of its own, so children that outlived their parent go too.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def site_of_workers(
    folder: Path, redis_url: str, *, children: int = 1, **artifactr: Any
) -> Iterator[Workers]:
    settings = {
        "EXECUTOR": "celery",
        "AGENTS": {"default": "tests.e2e.dying.agent"},
        "TURN_CONTEXT": "tests.e2e.dying.context",
        "TURN_ENDED": ["tests.e2e.dying.ended"],
        "LEASE_TTL_SECONDS": 5,
        **artifactr,
    }
    environment = {
        **live.environment(folder, None, settings),
        "REDIS_URL": f"{redis_url}/7",
        "E2E_QUEUE": f"turns-{secrets.token_hex(4)}",
        "E2E_SWEEP_SECONDS": "1",
        "E2E_DYING": "1",
    }
    workers = Workers(folder, environment, children)
    try:
        workers.beat()
        yield workers
    finally:
        workers.end()


def runs_of(place: Place, thread_id: str) -> list[models.Run]:
    return list(models.Run.objects.filter(thread__public_id=thread_id).order_by("pk"))


def until(workers: Workers, is_so: Callable[[], bool]) -> None:
    def look() -> bool:
        workers.replace_the_dead()
        return is_so()

    try:
        wait_until(look)
    except AssertionError:
        raise AssertionError(workers.output()) from None


def ask(place: Place, text: str) -> str:
    thread_id = place.open_thread()
    ana = core.UserActor(id="1", name="Ana")
    place.workspace.as_actor(ana).commit(core.PostMessage(thread_id=thread_id, content=text))
    return thread_id


def is_answered(thread_id: str) -> bool:
    row = models.Thread.objects.get(public_id=thread_id)
    return row.asked_seq <= row.taken_seq and selectors.active_run(row) is None


def check_done_once(place: Place, thread_id: str, point: str) -> None:
    """One reply, one effect or a visible doubt, and nothing that still runs."""
    said = [
        each.event.content
        for each in selectors.messages(place.workspace, thread_id)
        if isinstance(each.event, core.MessagePosted)
    ]
    assert said[1:] == ["Done."], (point, said)
    runs = runs_of(place, thread_id)
    assert [run.status for run in runs][-1] == "completed", point
    assert {run.reason for run in runs[:-1]} <= {"abandoned"}, point
    assert [run.retry_of for run in runs[1:]] == [run.public_id for run in runs[:-1]], point
    written = [
        each.event
        for each in place.workspace.read()
        if isinstance(each.event, core.ArtifactCreated) and each.event.thread_id == thread_id
    ]
    assert len(written) <= 1, point
    assert written or point in IN_DOUBT, point


@with_redis
@pytest.mark.parametrize("how", ["child", "parent"])
def test_a_worker_killed_at_any_point_costs_nothing(
    place: Place, tmp_path: Path, redis_url: str, how: str
) -> None:
    points = POINTS if how == "child" else POINTS[::3]
    # Who kills a parent has no brothers: another's turn would die with it, at any point.
    children = 2 if how == "child" else 1
    with site_of_workers(tmp_path, redis_url, children=children) as workers:
        for name in ("one", "two"):
            workers.worker(name)
        threads = {point: ask(place, f"die:{point}:{how}") for point in points}
        well = ask(place, "Live")
        until(workers, lambda: all(map(is_answered, [*threads.values(), well])))
        for point in points:
            assert (tmp_path / f"{threads[point]}.{point}").exists(), f"it did not die: {point}"
    for point, thread_id in threads.items():
        check_done_once(place, thread_id, point)
        died_before_it_ended = point not in ("claimed", "after_the_end")
        assert (len(runs_of(place, thread_id)) > 1) >= died_before_it_ended, point
    check_done_once(place, well, "none")
    assert place.workspace.verify() == []


@with_redis
@pytest.mark.parametrize("in_time", [True, False], ids=["drains", "hands over"])
def test_a_worker_told_to_end_drains_for_a_while_then_hands_over(
    place: Place, tmp_path: Path, redis_url: str, in_time: bool
) -> None:
    with site_of_workers(tmp_path, redis_url, DRAIN_SECONDS=120 if in_time else 1) as workers:
        first = workers.worker("one")
        thread_id = ask(place, "wait")
        until(workers, (tmp_path / "waiting").exists)
        first.send_signal(signal.SIGTERM)
        if in_time:
            wait_until(lambda: "Warm shutdown" in workers.output())
            (tmp_path / "go_on").touch()
        assert first.wait(60) == 0, workers.output()
        (run, *_) = runs_of(place, thread_id)
        if in_time:
            assert run.status == "completed"
            return
        assert (run.status, run.reason) == ("failed", "abandoned")
        row = models.Thread.objects.get(public_id=thread_id)
        assert (row.tries, row.not_before) == (0, None)
        claim = place.workspace.acquire_lease(f"thread:{thread_id}", "the next", 60)
        assert claim is not None, "the claim is still held"
        place.workspace.release_lease(claim)
        (tmp_path / "go_on").touch()
        until(workers, lambda: is_answered(thread_id))  # by the one that replaces it
    handed_over, again = runs_of(place, thread_id)
    assert (again.retry_of, again.status) == (handed_over.public_id, "completed")


@with_redis
def test_a_pause_outlives_every_process(place: Place, tmp_path: Path, redis_url: str) -> None:
    ben = core.UserActor(id="2", name="Ben")

    def is_paused() -> bool:
        return any(run.status == "paused" for run in runs_of(place, thread_id))

    with site_of_workers(tmp_path, redis_url) as workers:
        workers.worker("one")
        thread_id = ask(place, "approved")
        until(workers, is_paused)
    (run,) = selectors.runs(place.workspace, thread_id=thread_id)
    place.workspace.as_actor(ben).commit(
        core.AnswerDeferred(run_id=run.id, tool_call_id=run.pending[0].tool_call_id, approved=True)
    )
    with site_of_workers(tmp_path, redis_url) as workers:
        workers.worker("other")
        until(workers, lambda: is_answered(thread_id))
    (after,) = selectors.runs(place.workspace, thread_id=thread_id)
    assert (after.id, after.status) == (run.id, "completed")
    assert models.ToolApproval.objects.count() == 1
    check_done_once(place, thread_id, "pause")


@with_redis
def test_a_stop_reaches_the_process_that_runs_the_turn(
    place: Place, tmp_path: Path, redis_url: str
) -> None:
    with site_of_workers(tmp_path, redis_url) as workers:
        workers.worker("one")
        thread_id = ask(place, "wait")
        until(workers, (tmp_path / "waiting").exists)
        (run,) = runs_of(place, thread_id)
        watching.stop_run(place.workspace, run.public_id)
        until(workers, lambda: is_answered(thread_id))
        (run,) = runs_of(place, thread_id)
        assert run.status == "stopped"


def test_a_server_that_runs_turns_itself_hands_them_over_as_it_ends(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "environment", _with_dying(live.environment))
    thread_id = ask(place, "wait")
    with live.serving(tmp_path, **TAKES_TURNS) as server:
        wait_until((tmp_path / "waiting").exists)
        server.stop()
    (left,) = runs_of(place, thread_id)
    assert (left.status, left.reason) == ("failed", "abandoned")
    (tmp_path / "go_on").touch()
    with live.serving(tmp_path, **TAKES_TURNS):
        wait_until(lambda: is_answered(thread_id))
    statuses = [run.status for run in runs_of(place, thread_id)]
    assert statuses == ["failed", "completed"]


def _with_dying(environment: Callable[..., dict[str, str]]) -> Callable[..., dict[str, str]]:
    return lambda *args: {**environment(*args), "E2E_DYING": "1"}
