"""Celery tasks of turns: thin, ids in, services out; and what a worker does as it ends."""

from __future__ import annotations

import multiprocessing
from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutting_down

from artifacts import telemetry
from threads.agent.turn import take_turn
from threads.services import turns, watching


@shared_task(name=turns.RUN_TURN, ignore_result=True)
def run_turn(workspace_id: str, thread_id: str) -> None:
    """Do what waits in a thread, unless a turn of it is going on already."""
    take_turn(workspace_id, thread_id)


@shared_task(name="threads.sweep_turns", ignore_result=True)
def sweep_turns() -> None:
    """Wake threads whose wake-up was lost."""
    with telemetry.untraced():
        turns.sweep()


@worker_init.connect
def _share_flag(**_: Any) -> None:
    """The children that run turns are forked later, and inherit the flag."""
    watching.drains_with(multiprocessing.Event())


@worker_shutting_down.connect
def _drain(**_: Any) -> None:
    """A worker that is told to end lets its turns go on for a while, then hands them over."""
    watching.drain()
