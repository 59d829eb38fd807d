"""Celery tasks of turns: thin, ids in, services out; and what a worker does as it ends."""

from __future__ import annotations

import logging
import multiprocessing
from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutting_down

from artifacts import telemetry
from artifacts.core import Unavailable
from threads.agent.turn import take_turn
from threads.checks import check_agents
from threads.services import turns, watching

log = logging.getLogger(__name__)


@shared_task(name=turns.RUN_TURN, ignore_result=True)
def run_turn(workspace_id: str, thread_id: str) -> None:
    """Do what waits in a thread, unless a turn of it is going on already."""
    try:
        take_turn(workspace_id, thread_id)
    except Unavailable as error:
        # What was asked is not forgotten, and need not wait for the sweep.
        turns.wake_thread(workspace_id, thread_id, delay_seconds=error.retry_after)
        raise


@shared_task(name="threads.sweep_turns", ignore_result=True)
def sweep_turns() -> None:
    """Wake threads whose wake-up was lost."""
    with telemetry.untraced():
        turns.sweep()


@worker_init.connect
def _check_agents(**_: Any) -> None:
    """Celery runs the checks of a site and says nothing of what they found."""
    for message in check_agents():
        log.error("%s", message)


@worker_init.connect
def _share_flag(**_: Any) -> None:
    """The children that run turns are forked later, and inherit the flag."""
    watching.drains_with(multiprocessing.Event())


@worker_shutting_down.connect
def _drain(**_: Any) -> None:
    """A worker that is told to end lets its turns go on for a while, then hands them over."""
    watching.drain()
