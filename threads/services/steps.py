"""What a turn writes on its way: each fact with the history that belongs to it, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from artifacts.core.events import AnyFact
from threads.services.openings import Turn
from threads.store.approvals import use_approval
from threads.store.turns import Segment, Write, appending, steering_from


@dataclass(frozen=True, slots=True)
class Piece:
    """History that is new: its segments, how far it has told the agent what changed, and the seqs
    of the messages in it."""

    segments: Sequence[Segment]
    seen_seq: int
    told: Collection[int] = ()

    def writing(self, turn: Turn) -> list[Write]:
        if not self.segments:
            return []
        return [
            appending(
                turn.thread_pk,
                run_id=turn.run_id,
                seen_seq=self.seen_seq,
                segments=self.segments,
                told=self.told,
            )
        ]


def start(turn: Turn, trace_id: str | None) -> None:
    """Record that the run starts, or goes on."""
    started = turn.started.model_copy(update={"trace_id": trace_id})
    begins = turn.started.trigger != "resume"
    also = [steering_from(turn.run_id, seq=turn.from_seq)] if begins else []
    turn.workspace.record(started, also=also)


def record(turn: Turn, fact: AnyFact, piece: Piece) -> int:
    """A fact of the run with the history that belongs to it; its place in the log."""
    seq = turn.workspace.record(fact, also=piece.writing(turn)).seq
    assert seq is not None, "a fact is an event"
    return seq


def store(turn: Turn, piece: Piece) -> None:
    """History that belongs to no fact: what a request to the model is about to send."""
    writes = piece.writing(turn)
    if writes:
        with turn.workspace.transaction() as tx:
            for write in writes:
                write(tx)


def may_execute(turn: Turn, tool_call_id: str) -> bool:
    """Use the approval of a call; False where an earlier attempt did, whatever came of it."""
    pause = turn.resumption
    with turn.workspace.transaction() as tx:
        return use_approval(
            tx,
            pause.run_id if pause else turn.run_id,
            paused_seq=pause.paused_seq if pause else 0,
            tool_call_id=tool_call_id,
        )
