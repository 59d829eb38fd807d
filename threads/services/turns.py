"""Turns of a thread: asked for, claimed, handed over to the next one, and found again when lost.

A message's transaction marks its thread as asked; the task that is sent after it is only a wake-up.
Whoever holds the thread's claim takes what is waiting: `openings` says what a turn is given,
`steps` writes what it does on its way, `endings` how it ended, for a dead process too. Running the
model is the agent layer's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from artifacts import clock, conf, core, executor
from artifacts.extensions import Committed
from artifacts.workspace import Workspace
from threads import selectors
from threads.services import leases, openings
from threads.store.turns import MOST_BYTES, Segment, asked_by

__all__ = [
    "MOST_BYTES",
    "RUN_TURN",
    "SYSTEM",
    "Segment",
    "claimed",
    "hand_over",
    "sweep",
    "wake",
    "wake_thread",
]

RUN_TURN = "threads.run_turn"
SYSTEM = core.SystemActor(name="turns")
SWEPT_AT_ONCE = 500


def wake(committed: Committed) -> None:
    """A reaction: send the wake-up for each thread that a commit asked."""
    for thread_id in asked_by(committed):
        wake_thread(committed.workspace_id, thread_id)


def wake_thread(workspace_id: str, thread_id: str, *, delay_seconds: float = 0) -> None:
    """Have somebody look after a thread; one wake-up too many costs a look."""
    executor.enqueue(RUN_TURN, workspace_id, thread_id, delay_seconds=delay_seconds)


def sweep() -> int:
    """Wake every thread that wants a turn and that nobody holds; return how many those were.

    A wake-up may be lost with a broker or a process, so this is what a turn can rely on. The
    messages of a sweep expire before the next one, so a slow queue does not fill up with them.
    """
    waiting = selectors.waiting(clock.now(), limit=SWEPT_AT_ONCE)
    for row in waiting:
        executor.enqueue(
            RUN_TURN,
            row.workspace.public_id,
            row.public_id,
            expires_seconds=conf.settings().LEASE_TTL_SECONDS,
        )
    return len(waiting)


@contextmanager
def claimed(workspace: Workspace, thread_id: str) -> Iterator[leases.Claim | None]:
    """Hold a thread inside the block; None where another turn of it is going on."""
    with leases.held(workspace, f"{selectors.THREAD_CLAIM}{thread_id}") as claim:
        yield claim


def hand_over(workspace: Workspace, thread_id: str) -> None:
    """Ask for the next turn if the one that just ended left something.

    Called after the claim is released: a wake-up that came while it was held found it taken and
    left, so its message is looked for here.
    """
    row = selectors.thread_row(workspace, thread_id)
    if openings.is_wanted(workspace, row):
        wait = (row.not_before - clock.now()).total_seconds() if row.not_before else 0
        wake_thread(workspace.id, thread_id, delay_seconds=max(0.0, wait))
