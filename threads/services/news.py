"""What an agent has not been told yet: the changes of others as notes, and messages that steer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import islice

from artifacts import core
from artifacts.workspace import Workspace
from threads import selectors
from threads.selectors import Standing

MOST_MESSAGES = 20  # that one request to the model brings


@dataclass(frozen=True, slots=True)
class News:
    """Everything up to a place in the log, for one agent: notes, empty where there is nothing to
    tell, and the next messages that steer its run. `created` are the artifacts of its thread."""

    up_to_seq: int
    notes: str = ""
    said: tuple[core.Envelope, ...] = ()
    created: frozenset[str] = frozenset()


def changes(
    workspace: Workspace,
    standing: Standing,
    *,
    after_seq: int,
    notices: bool = False,
    notices_after: int | None = None,
    created: frozenset[str] | None = None,
) -> News:
    """What others did after a place in the log, as this agent is told of it.

    With `notices`, what they noted too, after a place of its own if it is given. It ends where the
    log did when the thread was read: what is committed meanwhile is told the next time, and nothing
    is told twice. `created` spares the look for artifacts of the thread up to `after_seq`.
    """
    up_to_seq = standing.head_seq
    start = after_seq if notices_after is None else min(after_seq, notices_after)
    place = standing.workspace_pk, standing.thread.id
    if created is None:
        created = selectors.created_in(*place)
    if start >= up_to_seq:
        return News(up_to_seq, created=created)
    while True:
        follows = created.union(standing.thread.focus)
        noted = selectors.noted(
            *place, follows=follows, after_seq=start, up_to_seq=up_to_seq, notices=notices
        )
        more = created.union(_created(noted, standing.thread.id))
        if more == created:
            break
        created = more  # what others did with these since is told as well
    told = [
        each for each in noted if each.seq > after_seq or isinstance(each.event, core.MessagePosted)
    ]
    notes = core.change_notes(told, viewer=workspace.actor, follows=follows, notices=notices)
    return News(up_to_seq, core.render_notes(notes), created=created)


class Lookout:
    """How far one attempt has looked at the log: a look costs one statement while nobody but the
    attempt itself writes."""

    def __init__(self, workspace: Workspace, thread_pk: int, *, from_seq: int) -> None:
        self._workspace, self._thread_pk, self._from_seq = workspace, thread_pk, from_seq
        self._quiet_seq: int | None = None  # up to here there is nothing more to tell
        self._created: frozenset[str] | None = None

    def look(
        self,
        *,
        after_seq: int,
        told: Collection[int],
        notices: bool = False,
        notices_after: int | None = None,
    ) -> News:
        """What is to be told now; `told` are the seqs of messages that the agent knows."""
        standing = selectors.standing(self._thread_pk)
        if standing.head_seq == self._quiet_seq:
            return News(standing.head_seq)
        found = changes(
            self._workspace,
            standing,
            after_seq=after_seq,
            notices=notices,
            notices_after=notices_after,
            created=self._created,
        )
        waiting = selectors.unread(
            standing, also_taken=told, after_seq=self._from_seq, up_to_seq=standing.head_seq
        )
        return replace(found, said=tuple(islice(waiting, MOST_MESSAGES)))

    def told(self, news: News) -> None:
        """It is stored, so it need not be found again."""
        if news.up_to_seq == self._quiet_seq:
            return
        self._created = news.created
        # Of more messages than one request brings, the others are still to be found.
        self._quiet_seq = news.up_to_seq if len(news.said) < MOST_MESSAGES else None

    def wrote(self, seq: int) -> None:
        """The attempt itself wrote the event at this place."""
        if self._quiet_seq == seq - 1:
            self._quiet_seq = seq


def _created(events: Collection[core.Envelope], thread_id: str) -> set[str]:
    return {
        each.event.artifact_id
        for each in events
        if isinstance(each.event, core.ArtifactCreated) and each.thread_id == thread_id
    }
