"""How a turn ends: with a reply, a pause, or a reason that people can read; and what a dead process
left is ended for it. Everything a turn ends with is one transaction, so a crash leaves either all
of it or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from artifacts import clock, conf, core
from artifacts.workspace import Workspace
from threads import models, selectors
from threads.services import leases
from threads.services.deeds import Resumption, in_doubt, resumption, used_before
from threads.services.openings import Turn
from threads.services.steps import Piece
from threads.store.turns import Segment, appending, done_trying, taking, trying_again

BACKOFF_SECONDS = (5, 30, 120)
NOTHING = Piece((), 0)

SENTENCES = {
    "abandoned": "The process that ran this turn stopped before it ended.",
    "handed_over": "The process that ran this turn was shut down; the turn is handed over.",
    "poison": "Every process that ran this turn stopped before it ended; it is given up.",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended: with a reply, a pause, or with a reason and a sentence to read.

    `abandoned` is a turn that its process hands over.
    """

    status: Literal["completed", "failed", "stopped", "paused", "abandoned"]
    reply: str | None = None
    reason: str | None = None
    error: str | None = None
    requests: tuple[core.DeferredRequest, ...] = ()
    usage: dict[str, Any] | None = None
    piece: Piece = NOTHING


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn that ended or paused, as the host is told of it."""

    workspace: Workspace
    thread_id: str
    run_id: str
    status: str
    reason: str | None
    reply: str | None
    usage: dict[str, Any] | None


def end(turn: Turn, ending: Ending, taken: frozenset[int]) -> Ended:
    """Write the reply, the fact that ends or pauses the run, its history and the taken mark."""
    also = ending.piece.writing(turn)
    if ending.status == "abandoned":
        # By our own will: it says nothing about the turn, so it is no try.
        also.append(trying_again(turn.thread_pk, not_before=None, counts=False))
    else:
        also += [taking(turn.thread_pk, taken), done_trying(turn.thread_pk)]
    said: list[core.PostMessage] = []
    if ending.reply is not None:
        said.append(core.PostMessage(thread_id=turn.thread.id, content=_postable(ending.reply)))
    fact = _last_fact(turn, ending)
    turn.workspace.commit_all([*said, fact], also=also)
    return Ended(
        workspace=turn.workspace,
        thread_id=turn.thread.id,
        run_id=turn.run_id,
        status=fact.status if isinstance(fact, core.RunEnded) else "paused",
        reason=fact.reason if isinstance(fact, core.RunEnded) else None,
        reply=said[0].content if said else None,
        usage=ending.usage,
    )


def _last_fact(turn: Turn, ending: Ending) -> core.RunPaused | core.RunEnded:
    run_id, thread_id = turn.run_id, turn.thread.id
    if ending.status == "paused":
        return core.RunPaused(
            run_id=run_id, thread_id=thread_id, requests=ending.requests, usage=ending.usage
        )
    if ending.status == "abandoned":
        return core.RunEnded(
            run_id=run_id,
            thread_id=thread_id,
            status="failed",
            reason="abandoned",
            error=SENTENCES["handed_over"],
            usage=ending.usage,
        )
    return core.RunEnded(
        run_id=run_id,
        thread_id=thread_id,
        status=ending.status,
        reason=ending.reason,
        error=ending.error,
        usage=ending.usage,
    )


# What a dead process left


@dataclass(frozen=True, slots=True)
class Leftover:
    """A run that nobody works on any more, and how it ends.

    `in_doubt` are tool calls that may or may not have taken effect. An abandoned run keeps the
    calls of its `resumption` open: the next attempt answers them.
    """

    row: models.Thread
    run: models.Run
    verdict: Literal["stopped", "poison", "abandoned"]
    is_own: bool  # of a turn, which is taken again; not of a caller that drove its agent itself
    in_doubt: frozenset[str]
    history: tuple[bytes, ...]
    seen_seq: int
    told: frozenset[int]
    message_ids: frozenset[str]
    resumption: Resumption | None
    usage: dict[str, Any] | None

    @property
    def keeps_open(self) -> frozenset[str]:
        if self.verdict != "abandoned" or self.resumption is None:
            return frozenset()
        return frozenset(each.tool_call_id for each in self.resumption.requests)


def leftover(claim: leases.Claim, thread_id: str) -> Leftover | None:
    """The run of a claimed thread that a dead process left, or that stops while it is paused."""
    row = selectors.thread_row(claim.workspace, thread_id)
    run = selectors.active_run(row)
    if run is None:
        return None
    is_stopping = run.stop_requested_at is not None
    if run.status == models.Run.Status.PAUSED and not is_stopping:
        return None
    chain = selectors.earlier_attempts(run)
    events = selectors.run_events(row, chain)
    pause = resumption(events)
    spent = (
        selectors.used_approvals(row, pause.run_id, paused_seq=pause.paused_seq)
        if pause
        else frozenset()
    )
    remembered = selectors.remembered(row)
    starts = [each.event for each in events if isinstance(each.event, core.RunStarted)]
    is_own = starts[-1].trigger != "api"
    return Leftover(
        row=row,
        run=run,
        verdict="stopped" if is_stopping else _verdict(row, is_own=is_own),
        is_own=is_own,
        in_doubt=in_doubt(events) | spent,
        history=remembered.chunks,
        seen_seq=remembered.seen_seq,
        told=selectors.told_by(row, chain),
        message_ids=frozenset(id for each in starts for id in each.message_ids),
        resumption=pause,
        usage=used_before(events, run.public_id),
    )


def settle(claim: leases.Claim, left: Leftover, closing: Sequence[Segment]) -> None:
    """Record how it ended, with an answer to each tool call that has none."""
    thread_pk = left.row.pk
    also = []
    if closing:
        also.append(
            appending(
                thread_pk, run_id=left.run.public_id, seen_seq=left.seen_seq, segments=closing
            )
        )
    if left.verdict == "abandoned" and left.is_own:
        wait = BACKOFF_SECONDS[min(left.row.tries, len(BACKOFF_SECONDS) - 1)]
        not_before = clock.now() + timedelta(seconds=wait)
        also.append(trying_again(thread_pk, not_before=not_before, counts=True))
    elif left.verdict == "abandoned":
        also.append(taking(thread_pk, ()))  # what it left unanswered starts a turn
    else:
        also += [taking(thread_pk, _begun_with(left)), done_trying(thread_pk)]
    ended = core.RunEnded(
        run_id=left.run.public_id,
        thread_id=left.row.public_id,
        status="stopped" if left.verdict == "stopped" else "failed",
        reason=None if left.verdict == "stopped" else left.verdict,
        error=SENTENCES.get(left.verdict),
        usage=left.usage,
    )
    claim.workspace.record(ended, fence=claim.fence, also=also)


def _verdict(row: models.Thread, *, is_own: bool) -> Literal["poison", "abandoned"]:
    is_last = row.tries + 1 >= conf.settings().TURN_TRIES
    return "poison" if is_own and is_last else "abandoned"


def _begun_with(left: Leftover) -> set[int]:
    """The messages that count as taken: those it was told, and those it began with."""
    begun = {
        each.seq
        for each in selectors.unread(left.row)
        if isinstance(each.event, core.MessagePosted) and each.event.message_id in left.message_ids
    }
    return begun | left.told


def _postable(reply: str) -> str:
    """A model's words in the form a message may have: bounded, without NUL or half characters."""
    limit = conf.limits().message_bytes
    text = reply.replace("\0", "").encode("utf-8", "replace")
    if len(text) > limit:
        text = text[: limit - len(" …".encode())].decode("utf-8", "ignore").encode() + " …".encode()
    return text.decode()
