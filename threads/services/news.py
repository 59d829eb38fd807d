"""What an agent has not been told yet: the changes of others as notes, and messages that steer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from artifacts import core
from artifacts.workspace import Workspace
from threads import models, selectors

MOST_MESSAGES = 20  # that one request to the model brings


@dataclass(frozen=True, slots=True)
class Changes:
    """Notes on everything up to a place in the log; empty where there is nothing to tell."""

    notes: str
    up_to_seq: int


def changes(
    workspace: Workspace,
    row: models.Thread,
    *,
    after_seq: int,
    notices: bool = False,
    notices_after: int | None = None,
) -> Changes:
    """What others did after a place in the log, as this agent is told of it.

    With `notices`, what they noted too, after a place of its own if it is given. The head is read
    first: what is committed meanwhile is told the next time, and nothing is told twice.
    """
    up_to_seq = workspace.head_seq()
    start = after_seq if notices_after is None else min(after_seq, notices_after)
    if start >= up_to_seq:
        return Changes("", up_to_seq)
    follows = frozenset(selectors.thread_of(row).focus) | selectors.created_in(row)
    noted = selectors.noted(
        row, follows=follows, after_seq=start, up_to_seq=up_to_seq, notices=notices
    )
    told = [
        each for each in noted if each.seq > after_seq or isinstance(each.event, core.MessagePosted)
    ]
    notes = core.change_notes(told, viewer=workspace.actor, follows=follows, notices=notices)
    return Changes(core.render_notes(notes), up_to_seq)


def steering(
    row: models.Thread, *, after_seq: int, up_to_seq: int, told: Collection[int]
) -> tuple[core.Envelope, ...]:
    """The next messages that came during a run and that it was not told of."""
    waiting = selectors.unread(row, also_taken=told, after_seq=after_seq, up_to_seq=up_to_seq)
    return tuple(islice(waiting, MOST_MESSAGES))
