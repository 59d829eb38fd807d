"""The person's side: lines that are typed, what they mean, and Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TextIO

from artifacts import core
from artifacts.core.errors import ArtifactrError

from .conversation import Conversation
from .screen import choices_of

HELP = """A line is said to the agent, also while it works, or answers what it asks. Besides:
  /proposals            what waits for a decision
  /accept [N]           accept proposal N, or the newest
  /reject [N] REASON    reject it
  /mode suggest|edit    whether the agent only suggests changes
  /stop                 stop what goes on
  /quit                 leave
Ctrl-C stops the agent; twice leaves."""


class Leave(Exception):
    """The person goes."""


class Interrupt(Exception):
    """Ctrl-C was pressed where a line was expected."""


class Typed(Protocol):
    """Where lines come from; `waits` if a line is only read when the one before is done."""

    @property
    def waits(self) -> bool: ...

    async def next(self, prompt: Callable[[], str]) -> str | None: ...


class Lines:
    """Lines of a pipe, read on a thread of its own: a read cannot be cancelled.

    They were written before anything came of them, so each waits until the one before is done.
    """

    waits = True

    def __init__(self, source: TextIO | None = None) -> None:
        self._source = source or sys.stdin
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read() -> None:
            with suppress(RuntimeError):  # its loop is closed
                for line in self._source:
                    loop.call_soon_threadsafe(self._lines.put_nowait, line.rstrip("\r\n"))
                loop.call_soon_threadsafe(self._lines.put_nowait, None)

        threading.Thread(target=read, name="lines", daemon=True).start()

    async def next(self, prompt: Callable[[], str]) -> str | None:
        return await self._lines.get()


class Prompt:
    """A line editor; what is printed meanwhile stands above it."""

    waits = False

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession

        self._session: PromptSession[str] = PromptSession()

    async def next(self, prompt: Callable[[], str]) -> str | None:
        from prompt_toolkit.patch_stdout import patch_stdout

        try:
            with patch_stdout(raw=True):
                return await self._session.prompt_async(prompt)
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Interrupt from None


class Session:
    """Reads lines until the person leaves."""

    def __init__(self, conversation: Conversation, lines: Typed) -> None:
        self.conversation, self.screen = conversation, conversation.screen
        self._lines = lines
        self._interrupts = 0
        self._stopping: asyncio.Task[bool] | None = None
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/help": self._help,
            "/proposals": self._proposals,
            "/accept": self._accept,
            "/reject": self._reject,
            "/mode": self._mode,
            "/stop": self._stop,
            "/quit": self._quit,
        }

    async def run(self) -> None:
        while True:
            try:
                line = await self._lines.next(self._prompt)
            except Interrupt:
                if self.conversation.is_at_rest or not self._interrupted():
                    return
                continue
            if line is None or not await self._entered(line.strip()):
                return

    async def _entered(self, line: str) -> bool:
        """Carry a line out; whether the person stays.

        Ctrl-C stops the agent, and a second one leaves.
        """
        self._interrupts = 0
        work = asyncio.create_task(self._enter(line))
        with _on_interrupt(lambda: self._interrupted() or work.cancel()):
            try:
                await work
            except (Leave, asyncio.CancelledError):
                return False
            except ArtifactrError as refusal:
                self.screen.line(f"Refused: {refusal.message}.", "bad")
        return True

    def _prompt(self) -> str:
        waiting = self.conversation.waiting
        if not waiting:
            return "you> "
        return "y/n> " if waiting[0].kind == "approval" else "answer> "

    async def _enter(self, line: str) -> None:
        if not line:
            return
        if line.startswith("/"):
            word, _, rest = line.partition(" ")
            command = self._commands.get(word)
            if command is None:
                self.screen.line(f"There is no {word}; /help tells what there is.", "bad")
                return
            await command(rest.strip())
        elif waiting := self.conversation.waiting:
            await self._answer(waiting[0], line)
        else:
            await self.conversation.say(line)
        if self._lines.waits:
            await self.conversation.until(lambda: self.conversation.is_at_rest)

    async def _answer(self, request: core.DeferredRequest, line: str) -> None:
        if request.kind == "question":
            choices = choices_of(request)
            is_number = line.isdecimal() and 0 < int(line) <= len(choices)
            text = choices[int(line) - 1] if is_number else line
            await self.conversation.answer(request, text=text)
            return
        word, _, reason = line.partition(" ")
        verdict = {"y": True, "yes": True, "n": False, "no": False}.get(word.lower())
        if verdict is None:
            self.screen.line("Type y or n; n may be followed by a reason.", "bad")
            return
        await self.conversation.approve(request, verdict, reason.strip() or None)

    def _interrupted(self) -> bool:
        """Stop what goes on; False where that was tried already."""
        self._interrupts += 1
        if self._interrupts > 1:
            return False
        self.screen.line("Stopping; Ctrl-C again leaves.", "quiet")
        self._stopping = asyncio.create_task(self.conversation.stop())
        return True

    # Commands

    async def _help(self, rest: str) -> None:
        self.screen.line(HELP)

    async def _proposals(self, rest: str) -> None:
        found = list(await self._pending())
        for number, proposal in found:
            self.screen.proposal(number, proposal, None)
        if not found:
            self.screen.line("Nothing waits for a decision.", "quiet")

    async def _accept(self, rest: str) -> None:
        proposal, reason = await self._named(rest)
        await self.conversation.decide(proposal, "accept", reason)
        self.screen.line("Accepted.")

    async def _reject(self, rest: str) -> None:
        proposal, reason = await self._named(rest)
        await self.conversation.decide(proposal, "reject", reason)
        self.screen.line("Rejected.")

    async def _mode(self, rest: str) -> None:
        if rest not in ("suggest", "edit"):
            raise core.ValidationFailed.at(["mode"], "is suggest or edit")
        await self.conversation.set_mode(rest)
        self.screen.line(f"The agent is in {rest} mode.")

    async def _stop(self, rest: str) -> None:
        if not await self.conversation.stop():
            self.screen.line("Nothing goes on.", "quiet")

    async def _quit(self, rest: str) -> None:
        raise Leave

    async def _named(self, rest: str) -> tuple[core.Proposal, str | None]:
        """The proposal a line names by its number, or the newest; and the rest as the reason."""
        word, _, after = rest.partition(" ")
        pending = list(await self._pending())
        if word.isdecimal():
            wanted, reason = [each for number, each in pending if number == int(word)], after
        else:
            wanted, reason = [each for _, each in pending[-1:]], rest
        if not wanted:
            raise core.InvalidState("no such proposal waits for a decision")
        return wanted[0], reason.strip() or None

    async def _pending(self) -> list[tuple[int, core.Proposal]]:
        """Those that were shown here and still wait, with their numbers."""
        found = []
        for number, shown in enumerate(self.conversation.proposals, start=1):
            now = await self.conversation.workspace.aproposal(shown.id)
            if not now.is_resolved:
                found.append((number, now))
        return found


@contextmanager
def _on_interrupt(call: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C does this inside the block; on the main thread, where signals arrive."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, call)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
