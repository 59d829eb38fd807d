"""One person in one thread: what happens there as it happens, and what the person does about it.

Everything goes through the same door as on every other surface; this holds no rule.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from artifacts import core
from artifacts.core.events import Envelope
from artifacts.core.protocol import Live, TextDelta
from artifacts.core.state import Proposal
from artifacts.pool import in_pool
from artifacts.workspace import Workspace
from threads import selectors
from threads.services.live import RunKey, store
from threads.services.stops import request_stop

from .screen import Screen

LIVE_SECONDS = 1.0
# What is told of the past when a thread is opened.
PAST = 20


class Conversation:
    """A thread that is followed; text of any of its runs is shown while it is being written."""

    def __init__(self, workspace: Workspace, thread_id: str, screen: Screen) -> None:
        self.workspace, self.thread_id, self.screen = workspace, thread_id, screen
        self.run: core.Run | None = None
        self.ended: core.RunEnded | None = None
        self.replies: list[str] = []
        self.proposals: list[Proposal] = []
        self.changed = asyncio.Condition()
        self._said_seq = 0
        self._taken_seq = 0
        self._paused_seq = 0
        self._streamed = ""
        self._live: asyncio.Task[None] | None = None
        self._live_seen = 0

    # What the person does

    async def say(self, text: str) -> None:
        posted = core.PostMessage(thread_id=self.thread_id, content=text)
        outcome = await self.workspace.acommit(posted)
        self.ended, self.replies = None, []
        self._said_seq = outcome.seq or 0

    async def answer(self, request: core.DeferredRequest, *, text: str | None) -> None:
        """Answer a question."""
        await self._answer(request, answer=text)

    async def approve(
        self, request: core.DeferredRequest, approved: bool, reason: str | None
    ) -> None:
        await self._answer(request, approved=approved, answer=reason)

    async def _answer(
        self,
        request: core.DeferredRequest,
        *,
        answer: str | None = None,
        approved: bool | None = None,
    ) -> None:
        assert self.run is not None
        command = core.AnswerDeferred(
            run_id=self.run.id,
            tool_call_id=request.tool_call_id,
            answer=answer,
            approved=approved,
        )
        await self.workspace.acommit(command)
        async with self.changed:
            self._note_answer(request.tool_call_id)

    async def decide(self, proposal: Proposal, decision: str, reason: str | None) -> None:
        """Accept what was shown, or reject it; one of a group goes with the others."""
        verdict: Literal["accept", "reject"] = "accept" if decision == "accept" else "reject"
        if proposal.group_id is not None:
            group = core.ResolveGroup(group_id=proposal.group_id, decision=verdict, reason=reason)
            await self.workspace.acommit(group)
            return
        shown = core.Expect(proposal_sha256=proposal.sha256) if verdict == "accept" else None
        command = core.RespondToProposal(
            proposal_id=proposal.id, decision=verdict, reason=reason, expect=shown
        )
        await self.workspace.acommit(command)

    async def stop(self) -> bool:
        """Ask the run that goes on, or is about to begin, to stop; whether there is one."""
        await self.until(lambda: self.run is not None or self.is_at_rest)
        if self.run is None:
            return False
        with suppress(core.NotFound):  # it ended by itself
            await in_pool(request_stop, self.workspace, self.run.id)
        return True

    async def set_mode(self, mode: str) -> None:
        chosen = "suggest" if mode == "suggest" else "edit"
        await self.workspace.acommit(core.SetThreadMode(thread_id=self.thread_id, mode=chosen))

    # Where it stands

    @property
    def waiting(self) -> list[core.DeferredRequest]:
        """What the paused run asks and nobody has answered."""
        if self.run is None or self.run.status != "paused":
            return []
        answered = {each.tool_call_id for each in self.run.answers}
        return [each for each in self.run.pending if each.tool_call_id not in answered]

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing more will happen until the person does something."""
        if self.waiting:
            return self._paused_seq >= self._said_seq
        return self.run is None and self._taken_seq >= self._said_seq

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with self.changed:
            await self.changed.wait_for(is_so)

    # What happens

    async def open(self) -> int:
        """Look at how it stands; the seq from which to follow."""
        head = await self.workspace.ahead_seq()
        active = await in_pool(
            selectors.runs, self.workspace, thread_id=self.thread_id, active=True, limit=1
        )
        self.run = active[0] if active else None
        self._paused_seq = head
        return head

    async def show_past(self, head: int) -> None:
        """The last of what was said, what waits for a decision, and what is asked."""
        past = await in_pool(
            selectors.messages,
            self.workspace,
            self.thread_id,
            before_seq=head + 1,
            last=PAST,
        )
        for envelope in past:
            if isinstance(envelope.event, core.MessagePosted):
                self.screen.message(envelope, envelope.event.content)
        for proposal in await self.workspace.aproposals("pending"):
            if proposal.thread_id == self.thread_id:
                await self._show_proposal(proposal)
        for request in self.waiting:
            self.screen.request(request)

    async def follow(self, after_seq: int, *, poll_seconds: float = 0.5) -> None:
        """Tell what happens, until cancelled."""
        threads = frozenset({self.thread_id})
        if self.run is not None and self.run.status == "running":
            self._watch(self.run.id)
        async for envelope in self.workspace.afollow(after_seq, threads, poll_seconds):
            await self._happened(envelope)
            async with self.changed:
                self.changed.notify_all()

    async def _happened(self, envelope: Envelope) -> None:
        event = envelope.event
        is_here = envelope.thread_id == self.thread_id
        match event:
            case core.MessagePosted() if is_here:
                await self._heard(envelope, event)
            case core.ProposalCreated():
                proposal = await self.workspace.aproposal(event.proposal_id)
                await self._show_proposal(proposal)
            case core.RunStarted() if is_here:
                self.run = core.Run(id=event.run_id, thread_id=event.thread_id)
                self._watch(event.run_id)
            case core.RunPaused() if is_here:
                self._paused_seq = envelope.seq
                await self._paused(event)
            case core.DeferredAnswered() if is_here:
                self._note_answer(event.tool_call_id)
                if envelope.actor != self.workspace.actor:
                    self.screen.happening(envelope)
            case core.RunEnded() if is_here:
                await self._stop_watching()
                self.screen.happening(envelope)
                self.run = None
                self.ended = event
                row = await in_pool(selectors.thread_row, self.workspace, self.thread_id)
                self._taken_seq = row.taken_seq
            case core.ThreadCreated():
                return
            case _ if envelope.actor != self.workspace.actor:
                self.screen.happening(envelope)

    async def _heard(self, envelope: Envelope, event: core.MessagePosted) -> None:
        if envelope.actor.participant == self.workspace.actor.participant:
            return
        is_reply = isinstance(envelope.actor, core.AgentActor)
        if is_reply:
            await self._stop_watching()
            self.replies.append(event.content)
        # The last part that was streamed is the reply itself.
        if not (is_reply and self._streamed.strip() == event.content.strip()):
            self.screen.message(envelope, event.content)
        self._streamed = ""

    async def _paused(self, event: core.RunPaused) -> None:
        await self._stop_watching()
        self.run = core.Run(
            id=event.run_id,
            thread_id=event.thread_id,
            status="paused",
            pending=event.requests,
        )
        for request in event.requests:
            self.screen.request(request)

    async def _show_proposal(self, proposal: Proposal) -> None:
        self.proposals.append(proposal)
        before = None
        if proposal.base_version:
            revision = await self.workspace.arevision(
                proposal.change.artifact_id, proposal.base_version
            )
            before = revision.data
        self.screen.proposal(len(self.proposals), proposal, before)

    def _note_answer(self, tool_call_id: str) -> None:
        if self.run is None or any(a.tool_call_id == tool_call_id for a in self.run.answers):
            return
        answers = (*self.run.answers, core.Answer(tool_call_id=tool_call_id))
        self.run = self.run.model_copy(update={"answers": answers})

    # Text as it comes

    def _watch(self, run_id: str) -> None:
        if self._live is None:
            self._live_seen = 0
            self._live = asyncio.create_task(self._stream(run_id))

    async def _stop_watching(self) -> None:
        """Show what was sent before the run went on to its end, then look away."""
        task, self._live = self._live, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})  # not the task itself: whose cancellation it was would be lost
        if self.run is not None:
            await self._show_frames(self.run.id, 0)
        self.screen.end_piece()

    async def _stream(self, run_id: str) -> None:
        # A store may lose the cancellation to a frame that comes at the same moment.
        while self._live is asyncio.current_task():
            await self._show_frames(run_id, LIVE_SECONDS)

    async def _show_frames(self, run_id: str, wait_seconds: float) -> None:
        run = RunKey(self.workspace.pk, run_id)
        found = await store().read(run, after=self._live_seen, wait_seconds=wait_seconds)
        for number, text in found:
            self._live_seen = number
            self._show_live(Live.model_validate_json(text))

    def _show_live(self, live: Live) -> None:
        event = live.event
        if event.type == "part_started" and event.part_kind == "text":
            self._streamed = ""
            self.screen.line("assistant:", "name")
        elif isinstance(event, TextDelta):
            self._streamed += event.delta
            self.screen.piece(event.delta)
