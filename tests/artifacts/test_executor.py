"""The port that runs tasks: on this process's threads, or handed to Celery."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app, shared_task
from django.test import override_settings

from artifacts import executor
from tests.support.sites import wait_until

ran: list[Any] = []
started, go_on = threading.Event(), threading.Event()


@shared_task(name="tests.note")
def note(value: str) -> None:
    ran.append(value)


@shared_task(name="tests.wait")
def wait() -> None:
    started.set()
    go_on.wait(60)
    ran.append("waited")


@shared_task(name="tests.fail")
def fail() -> None:
    raise RuntimeError("on purpose")


@shared_task(name="tests.leave")
def leave() -> None:
    raise SystemExit


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[executor.LocalExecutor]:
    ran.clear()
    started.clear()
    go_on.clear()
    schedule, current_app.conf.beat_schedule = current_app.conf.beat_schedule, {}
    local = executor.LocalExecutor(threads=1)
    monkeypatch.setattr(executor, "_local", local)
    with override_settings(ARTIFACTR={"EXECUTOR": "threads"}):
        yield local
    go_on.set()
    local.stop(60)
    current_app.conf.beat_schedule = schedule


def test_a_task_that_would_end_its_thread_does_not(local: executor.LocalExecutor) -> None:
    executor.enqueue("tests.leave")
    executor.enqueue("tests.note", "still here")
    wait_until(lambda: ran == ["still here"])


def test_it_runs_the_task_on_another_thread(local: executor.LocalExecutor) -> None:
    executor.enqueue("tests.note", "here")
    wait_until(lambda: ran == ["here"])


def test_a_failing_task_stops_nothing(
    local: executor.LocalExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    executor.enqueue("tests.fail")
    executor.enqueue("tests.note", "after")
    wait_until(lambda: ran == ["after"])
    assert "task tests.fail failed" in caplog.text


def test_equal_calls_that_wait_are_one(local: executor.LocalExecutor) -> None:
    executor.enqueue("tests.wait")
    assert started.wait(60)
    for _ in range(5):
        executor.enqueue("tests.note", "once")
    executor.enqueue("tests.note", "other")
    go_on.set()
    wait_until(lambda: ran == ["waited", "once", "other"])


def test_stop_waits_for_what_runs_and_drops_what_waits(local: executor.LocalExecutor) -> None:
    executor.enqueue("tests.wait")
    assert started.wait(60)
    executor.enqueue("tests.note", "never")
    threading.Timer(0.2, go_on.set).start()
    assert local.stop(60)
    assert ran == ["waited"]


def test_stop_gives_up_in_time(local: executor.LocalExecutor) -> None:
    executor.enqueue("tests.wait")
    assert started.wait(60)
    assert not local.stop(0.1)


def test_periodic_tasks_run_again_and_again(local: executor.LocalExecutor) -> None:
    current_app.conf.beat_schedule = {
        "a": {"task": "tests.note", "schedule": 0.02, "args": ("seconds",)},
        "b": {"task": "tests.note", "schedule": timedelta(milliseconds=20), "args": ("delta",)},
    }
    executor.start()
    wait_until(lambda: ran.count("seconds") > 2 and ran.count("delta") > 2)


def test_a_delayed_call_comes_after_a_while_and_equal_ones_are_one(
    local: executor.LocalExecutor,
) -> None:
    begun = time.monotonic()
    for _ in range(3):
        executor.enqueue("tests.note", "later", delay_seconds=0.3)
    executor.enqueue("tests.note", "now")
    wait_until(lambda: ran == ["now", "later"])
    assert time.monotonic() - begun >= 0.3
    executor.enqueue("tests.note", "end")
    wait_until(lambda: ran == ["now", "later", "end"])


def test_what_runs_long_is_cut_short_as_it_stops(
    local: executor.LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_on_stop", [])
    executor.on_stop(go_on.set)
    executor.enqueue("tests.wait")
    assert started.wait(60)
    assert local.stop(60)
    assert ran == ["waited"]


def test_with_celery_it_only_hands_over(
    local: executor.LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(
        current_app.tasks["tests.note"],
        "apply_async",
        lambda args, **options: sent.append((args, options)),
    )
    with override_settings(ARTIFACTR={"EXECUTOR": "celery"}):
        executor.start()
        executor.enqueue("tests.note", "there", expires_seconds=30)
        executor.enqueue("tests.note", "then", delay_seconds=5)
    assert sent == [
        (("there",), {"expires": 30, "retry": False}),
        (("then",), {"expires": None, "retry": False, "countdown": 5}),
    ]
    assert ran == []


def test_every_periodic_task_of_the_site_exists() -> None:
    for entry in current_app.conf.beat_schedule.values():
        assert entry["task"] in current_app.tasks
