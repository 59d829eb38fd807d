"""What a claimed thread needs next: a turn on its messages, a lost one taken again, or a paused run
that goes on with its answers. Reads, and turns a message into the answers it stands for."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from artifacts import clock, conf, core
from artifacts.core.actors import is_agent
from artifacts.workspace import Workspace
from threads import models, selectors
from threads.services import leases, news
from threads.services.deeds import Resumption, resumption, retold
from threads.store.turns import taking

log = logging.getLogger(__name__)

MOST_MESSAGES = 100  # that one turn starts with
MOST_BYTES = 2 * 1024 * 1024  # of them together


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn starts with. `workspace` acts as the agent, for the author of the messages.

    `messages` are those its prompt tells, `taken` the seqs of all that count as answered by it.
    `retold` says what an earlier attempt did. `seen_seq` is how far `notes` and history tell;
    `own_history` is the part of it that the run wrote before it paused.
    """

    workspace: Workspace
    claim: leases.Claim
    thread: core.Thread
    thread_pk: int
    started: core.RunStarted
    history: tuple[bytes, ...]
    own_history: tuple[bytes, ...]
    seen_before: int
    seen_seq: int
    from_seq: int
    messages: tuple[core.Envelope, ...] = ()
    taken: frozenset[int] = frozenset()
    notes: str = ""
    retold: str = ""
    resumption: Resumption | None = None
    traceparent: str | None = None

    @property
    def run_id(self) -> str:
        return self.started.run_id


def next_turn(claim: leases.Claim, thread_id: str) -> Turn | None:
    """What is to be done in a claimed thread, or None."""
    row = selectors.thread_row(claim.workspace, thread_id)
    active = selectors.active_run(row)
    if active is not None:
        return _resumed(claim, row, active)
    if row.asked_seq <= row.taken_seq or (row.not_before and row.not_before > clock.now()):
        return None
    last = selectors.last_abandoned(row)
    if last is not None:
        return _again(claim, row, last)
    return _fresh(claim, row)


def own_turn(claim: leases.Claim, thread_id: str, actor: core.AgentActor) -> Turn:
    """A run that a host drives itself, on whatever it tells its agent."""
    row = selectors.thread_row(claim.workspace, thread_id)
    assert actor.run_id is not None, "made with the run"
    started = core.RunStarted(run_id=actor.run_id, thread_id=thread_id, trigger="api")
    turn = _turn(claim, row, actor, started, from_seq=claim.workspace.head_seq())
    # There is no prompt of ours: the first request brings what changed.
    return replace(turn, notes="", seen_seq=turn.seen_before)


def is_wanted(workspace: Workspace, row: models.Thread) -> bool:
    """Whether `next_turn` would find something in a thread that nobody holds."""
    active = selectors.active_run(row)
    if active is None:
        return row.asked_seq > row.taken_seq
    run = selectors.run_of(active)
    if run.status != "paused":
        return False
    if run.is_answered or active.stop_requested_at is not None:
        return True
    return any(_answers(run, each) for each in _replies(row, active))


def _fresh(claim: leases.Claim, row: models.Thread) -> Turn | None:
    standing = selectors.standing(row.pk)
    messages = _batch(selectors.unread(standing, up_to_seq=standing.head_seq))
    if not messages:
        return None
    run_id = core.new_id("run")
    actor = core.AgentActor(
        thread_id=row.public_id, run_id=run_id, on_behalf_of=_person(messages[0].actor)
    )
    started = core.RunStarted(
        run_id=run_id, thread_id=row.public_id, message_ids=tuple(_ids(messages))
    )
    return _turn(
        claim, row, actor, started,
        messages=messages, from_seq=standing.head_seq, standing=standing,
    )  # fmt: skip


def _again(claim: leases.Claim, row: models.Thread, last: models.Run) -> Turn | None:
    """The same once more: what the lost attempts were told stays told, what they did is retold."""
    chain = selectors.earlier_attempts(last)
    events = selectors.run_events(row, chain)
    actor, before = _start_of(last.public_id, events)
    if _is_callers(last.public_id, events):
        return _fresh(claim, row)
    told = selectors.told_by(row, chain)
    wanted = set(before.message_ids)
    messages = tuple(
        each for each in selectors.unread(row, also_taken=told) if wanted.intersection(_ids([each]))
    )
    run_id = core.new_id("run")
    started = core.RunStarted(
        run_id=run_id,
        thread_id=row.public_id,
        message_ids=before.message_ids,
        retry_of=last.public_id,
    )
    return _turn(
        claim, row, actor.model_copy(update={"run_id": run_id}), started,
        messages=messages, from_seq=last.from_seq, told=told, retold=retold(events),
        resumption=_with_spent(row, resumption(events)),
    )  # fmt: skip


def _resumed(claim: leases.Claim, row: models.Thread, active: models.Run) -> Turn | None:
    """A paused run whose requests are all answered, after what was said meanwhile is taken as the
    reply."""
    run = selectors.run_of(active)
    if run.status != "paused":
        return None
    if not run.is_answered:
        run = _replied(claim, row, active)
    if not run.is_answered:
        return None
    row.refresh_from_db()
    chain = selectors.earlier_attempts(active)
    events = selectors.run_events(row, chain)
    actor, _ = _start_of(run.id, events)
    started = core.RunStarted(run_id=run.id, thread_id=run.thread_id, trigger="resume")
    told = selectors.told_by(row, chain)
    return _turn(
        claim, row, actor, started,
        from_seq=active.from_seq, told=told, resumption=_with_spent(row, resumption(events)),
    )  # fmt: skip


def _start_of(run_id: str, events: Iterable[core.Envelope]) -> tuple[core.Actor, core.RunStarted]:
    """Who a run acts as, and how it began."""
    for each in events:
        if isinstance(each.event, core.RunStarted) and each.event.run_id == run_id:
            return each.actor, each.event
    raise core.NotFound("run", run_id)


def _is_callers(run_id: str, events: Sequence[core.Envelope]) -> bool:
    """Whether a host drove this run itself to its end: it alone knows what it was about."""
    starts = [each.event for each in events if isinstance(each.event, core.RunStarted)]
    return [each.trigger for each in starts if each.run_id == run_id][-1] == "api"


def _with_spent(row: models.Thread, found: Resumption | None) -> Resumption | None:
    if found is None:
        return None
    used = selectors.used_approvals(row, found.run_id, paused_seq=found.paused_seq)
    return replace(found, spent=used)


def _turn(
    claim: leases.Claim,
    row: models.Thread,
    actor: core.Actor,
    started: core.RunStarted,
    *,
    from_seq: int,
    messages: Sequence[core.Envelope] = (),
    told: frozenset[int] = frozenset(),
    retold: str = "",
    resumption: Resumption | None = None,
    standing: selectors.Standing | None = None,
) -> Turn:
    remembered = selectors.remembered(row)
    workspace = claim.workspace.as_actor(actor)
    # A run that resumes has no prompt; its first request brings what changed.
    found = None
    if not resumption:
        standing = standing or selectors.standing(row.pk)
        found = news.changes(workspace, standing, after_seq=remembered.seen_seq)
    return Turn(
        workspace=workspace.fenced(claim.fence),
        claim=claim,
        thread=selectors.thread_of(row),
        thread_pk=row.pk,
        started=started,
        history=remembered.chunks,
        own_history=remembered.of_run(started.run_id),
        seen_before=remembered.seen_seq,
        seen_seq=found.up_to_seq if found else remembered.seen_seq,
        from_seq=from_seq,
        messages=tuple(messages),
        taken=told | {each.seq for each in messages},
        notes=found.notes if found else "",
        retold=retold,
        resumption=resumption,
        traceparent=_asked_in(messages, resumption),
    )


def _asked_in(messages: Sequence[core.Envelope], resumption: Resumption | None) -> str | None:
    """The trace of the command that asked for this attempt."""
    if messages:
        return messages[0].traceparent
    return resumption.traceparent if resumption else None


# A message to a paused thread is the reply


def _replied(claim: leases.Claim, row: models.Thread, active: models.Run) -> core.Run:
    """The run with what was said since its pause as answers, as if their authors had given them."""
    run = selectors.run_of(active)
    for message in list(_replies(row, active)):
        answers = _answers(run, message)
        if not answers:
            continue
        try:
            claim.workspace.as_actor(message.actor).commit_all(
                answers, fence=claim.fence, also=[taking(row.pk, [message.seq])]
            )
        except (core.InvalidState, core.NotFound):
            log.info("run %s was answered by another at the same moment", run.id)
        active.refresh_from_db()
        run = selectors.run_of(active)
        if run.status != "paused" or run.is_answered:
            break
    return run


def _replies(row: models.Thread, active: models.Run) -> Iterator[core.Envelope]:
    """What was said after the pause; what came just before it steers the run when it goes on."""
    paused = selectors.paused_at(row, active.public_id)
    return selectors.unread(row, after_seq=paused)


def _answers(run: core.Run, message: core.Envelope) -> list[core.AnswerDeferred]:
    """What a message says to each open request: an answer, or why not."""
    assert isinstance(message.event, core.MessagePosted)
    answered = {each.tool_call_id for each in run.answers}
    approved = None
    found = []
    for request in run.pending:
        if request.tool_call_id in answered:
            continue
        if request.kind == "approval":
            if is_agent(message.actor):  # agents do not decide approvals
                continue
            approved = False
        found.append(
            core.AnswerDeferred(
                run_id=run.id,
                tool_call_id=request.tool_call_id,
                answer=message.event.content,
                approved=approved if request.kind == "approval" else None,
            )
        )
    return found[: conf.limits().commit_all_commands]


def _batch(waiting: Iterable[core.Envelope]) -> tuple[core.Envelope, ...]:
    """The oldest messages that wait, all by one author, and not too much at once."""
    batch: list[core.Envelope] = []
    size = 0
    for message in waiting:
        assert isinstance(message.event, core.MessagePosted)
        size += len(message.event.content.encode())
        if batch and (
            message.actor.participant != batch[0].actor.participant
            or len(batch) == MOST_MESSAGES
            or size > MOST_BYTES
        ):
            break
        batch.append(message)
    return tuple(batch)


def _ids(messages: Iterable[core.Envelope]) -> Iterator[str]:
    for each in messages:
        if isinstance(each.event, core.MessagePosted):
            yield each.event.message_id


def _person(author: core.Actor) -> core.UserActor | None:
    if isinstance(author, core.UserActor):
        return author
    return author.on_behalf_of if isinstance(author, core.ExternalAgentActor) else None
