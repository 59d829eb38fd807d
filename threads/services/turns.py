"""Turns of a thread: asked for, claimed, begun, ended, and handed over to the next one.

A message's transaction marks its thread as asked; the task that is sent after it is only a wake-up.
Whoever holds the thread's claim takes what is waiting. Everything a turn ends with is one
transaction, so a crash leaves either all of it or none. This module decides what a turn is given
and writes what it gave; running the model is the agent layer's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from artifacts import conf, core, executor
from artifacts.extensions import Committed
from artifacts.workspace import Workspace
from threads import models, selectors
from threads.services import leases
from threads.store.turns import MOST_BYTES, Segment, appending, asked_by, taking

__all__ = [
    "MOST_BYTES",
    "RUN_TURN",
    "SYSTEM",
    "Ending",
    "Segment",
    "Turn",
    "begin",
    "claimed",
    "end",
    "hand_over",
    "sweep",
    "wake",
]

RUN_TURN = "threads.run_turn"
SYSTEM = core.SystemActor(name="turns")
MOST_MESSAGES = 100  # that one turn starts with
SWEPT_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn starts with. `workspace` acts as the agent, for the author of the messages."""

    workspace: Workspace
    claim: leases.Claim
    thread: core.Thread
    thread_pk: int
    run_id: str
    messages: tuple[core.Envelope, ...]
    notes: str
    history: tuple[bytes, ...]
    seen_seq: int

    @property
    def taken_seq(self) -> int:
        return self.messages[-1].seq


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended: with a reply, or with a reason and a sentence that people can read."""

    status: Literal["completed", "failed"]
    reply: str | None = None
    reason: str | None = None
    error: str | None = None
    usage: dict[str, int] | None = None
    segments: Sequence[Segment] = ()


def wake(committed: Committed) -> None:
    """A reaction: send the wake-up for each thread that a commit asked."""
    for thread_id in asked_by(committed):
        executor.enqueue(RUN_TURN, committed.workspace_id, thread_id)


def sweep() -> int:
    """Wake every thread that was asked and that nobody took; return how many those were.

    A wake-up may be lost with a broker or a process, so this is what a turn can rely on. The
    messages of a sweep expire before the next one, so a slow queue does not fill up with them.
    """
    waiting = list(selectors.waiting()[:SWEPT_AT_ONCE])
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
    with leases.held(workspace, f"thread:{thread_id}") as claim:
        yield claim


def begin(claim: leases.Claim, thread_id: str) -> Turn | None:
    """Start a run on what is waiting in a claimed thread; None if nothing is."""
    workspace = claim.workspace
    row = selectors.thread_row(workspace, thread_id)
    active = selectors.active_run(row)
    if active is not None and active.status == models.Run.Status.PAUSED:
        return None
    messages = tuple(selectors.unread_batch(row, limit=MOST_MESSAGES))
    if active is not None and not _may_try_again(claim, active, messages):
        return None
    if not messages:
        return None
    run_id = core.new_id("run")
    actor = core.AgentActor(
        thread_id=thread_id, run_id=run_id, on_behalf_of=_person(messages[0].actor)
    )
    seen_seq = workspace.head_seq()
    turn = Turn(
        workspace=workspace.as_actor(actor).fenced(claim.fence),
        claim=claim,
        thread=selectors.thread_of(row),
        thread_pk=row.pk,
        run_id=run_id,
        messages=messages,
        notes=_notes(row, actor, up_to_seq=seen_seq),
        history=tuple(
            bytes(data)
            for data in selectors.segments(row).filter(usable=True).values_list("data", flat=True)
        ),
        seen_seq=seen_seq,
    )
    started = core.RunStarted(
        run_id=run_id,
        thread_id=thread_id,
        message_ids=tuple(
            each.event.message_id for each in messages if isinstance(each.event, core.MessagePosted)
        ),
        retry_of=active.public_id if active else None,
    )
    turn.workspace.record(started)
    return turn


def end(turn: Turn, ending: Ending) -> None:
    """Write the reply, the fact that ends the run, its history and the taken mark, or nothing."""
    ended = core.RunEnded(
        run_id=turn.run_id,
        thread_id=turn.thread.id,
        status=ending.status,
        usage=ending.usage,
        reason=ending.reason,
        error=ending.error,
    )
    said: list[core.PostMessage] = []
    if ending.reply is not None:
        said.append(core.PostMessage(thread_id=turn.thread.id, content=_postable(ending.reply)))
    turn.workspace.commit_all(
        [*said, ended],
        also=[
            appending(
                turn.thread_pk,
                run_id=turn.run_id,
                seen_seq=turn.seen_seq,
                segments=ending.segments,
            ),
            taking(turn.thread_pk, up_to_seq=turn.taken_seq),
        ],
    )


def hand_over(workspace: Workspace, thread_id: str) -> None:
    """Ask for the next turn if the one that just ended left something.

    Called after the claim is released: a wake-up that came while it was held found it taken and
    left, so its message is looked for here.
    """
    row = selectors.thread_row(workspace, thread_id)
    if row.asked_seq > row.taken_seq and selectors.active_run(row) is None:
        executor.enqueue(RUN_TURN, workspace.id, thread_id)


def _may_try_again(
    claim: leases.Claim, active: models.Run, messages: Sequence[core.Envelope]
) -> bool:
    """Record a run that its worker left behind. Past the last try its messages count as taken."""
    is_poison = selectors.attempts(active) >= conf.settings().TURN_TRIES
    ended = core.RunEnded(
        run_id=active.public_id,
        thread_id=active.thread.public_id,
        status="failed",
        reason="poison" if is_poison else "abandoned",
        error="The process that ran this turn stopped before it ended.",
    )
    drop = is_poison and messages
    also = [taking(active.thread_id, up_to_seq=messages[-1].seq)] if drop else []
    claim.workspace.record(ended, fence=claim.fence, also=also)
    return not is_poison


def _person(author: core.Actor) -> core.UserActor | None:
    if isinstance(author, core.UserActor):
        return author
    return author.on_behalf_of if isinstance(author, core.ExternalAgentActor) else None


def _notes(row: models.Thread, viewer: core.AgentActor, *, up_to_seq: int) -> str:
    """What others did since this thread's history last told its agent."""
    last = selectors.segments(row).last()
    thread = selectors.thread_of(row)
    follows = frozenset(thread.focus) | selectors.created_in(row)
    noted = selectors.noted(
        row, follows=follows, after_seq=last.seen_seq if last else 0, up_to_seq=up_to_seq
    )
    return core.render_notes(core.change_notes(noted, viewer=viewer, follows=follows))


def _postable(reply: str) -> str:
    """A model's words in the form a message may have: bounded, without NUL or half characters."""
    limit = conf.limits().message_bytes
    text = reply.replace("\0", "").encode("utf-8", "replace")
    if len(text) > limit:
        text = text[: limit - len(" …".encode())].decode("utf-8", "ignore").encode() + " …".encode()
    return text.decode()
