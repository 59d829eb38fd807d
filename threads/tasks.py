"""Celery tasks of turns: thin, ids in, services out."""

from __future__ import annotations

from celery import shared_task

from threads.agent.turn import take_turn
from threads.services import turns


@shared_task(name=turns.RUN_TURN, ignore_result=True)
def run_turn(workspace_id: str, thread_id: str) -> None:
    """Answer what waits in a thread, unless a turn of it is going on already."""
    take_turn(workspace_id, thread_id)


@shared_task(name="threads.sweep_turns", ignore_result=True)
def sweep_turns() -> None:
    """Wake threads whose wake-up was lost."""
    turns.sweep()
