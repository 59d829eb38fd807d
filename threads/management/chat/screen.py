"""What a terminal is given: plain words for each event, and colours where somebody looks.

Text of others never reaches the terminal as it is: what moves cursors or sets titles is taken out.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator
from typing import Any

from artifacts import core
from artifacts.core.events import Envelope
from artifacts.core.state import Proposal
from artifacts.surfaces.event_lines import event_line, who

COLOURS = {"quiet": "2", "name": "1", "ask": "33", "removed": "31", "added": "32", "bad": "31"}
MARKS = {"ok": "✓", "error": "✗", "retry": "↻"}
DIFF_LINES = 60


class Screen:
    """Prints lines, and text that comes in pieces.

    With a `width`, pieces are printed by whole lines: where somebody types below what is printed,
    the two do not share a line.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        colours: bool = False,
        width: Callable[[], int] | None = None,
    ) -> None:
        self._write = write
        self._colours = colours
        self._width = width
        self._held = ""
        self._is_midline = False

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line, on a line of its own."""
        self.end_piece()
        self._write(f"{self._styled(plain(text), style)}\n")

    def piece(self, text: str) -> None:
        """A part of a text that goes on."""
        shown = plain(text)
        if self._width is not None:
            self._hold(shown, self._width())
            return
        self._write(shown)
        self._is_midline = not shown.endswith("\n") if shown else self._is_midline

    def end_piece(self) -> None:
        if self._held or self._is_midline:
            self._write(f"{self._held}\n")
        self._held, self._is_midline = "", False

    def _hold(self, shown: str, width: int) -> None:
        """Print what has become a line, and keep the rest."""
        *lines, self._held = (self._held + shown).split("\n")
        for line in lines:
            self._write(f"{line}\n")
        while len(self._held) >= width:
            cut = self._held.rfind(" ", 1, width)
            cut = width if cut < 0 else cut + 1
            self._write(f"{self._held[:cut].rstrip()}\n")
            self._held = self._held[cut:]

    def _styled(self, text: str, style: str | None) -> str:
        if style is None or not self._colours:
            return text
        return f"\x1b[{COLOURS[style]}m{text}\x1b[0m"

    # Events

    def message(self, envelope: Envelope, content: str) -> None:
        self.line(f"{who(envelope.actor)}:", "name")
        self.line(content)

    def happening(self, envelope: Envelope) -> None:
        """One quiet line for what is no message."""
        event = envelope.event
        match event:
            case core.ToolCalled():
                self.line(f"  · {event.tool_name} {event.args_summary}", "quiet")
            case core.ToolReturned():
                mark = MARKS[event.status]
                self.line(f"  {mark} {event.tool_name} {event.summary}", "quiet")
            case core.RunEnded(status="completed") | core.RunStarted() | core.FocusChanged():
                return
            case core.RunEnded():
                self.line(f"  {event_line(event)}", "bad")
            case _:
                self.line(f"  {who(envelope.actor)}: {event_line(event)}", "quiet")

    def proposal(self, number: int, proposal: Proposal, before: dict[str, Any] | None) -> None:
        """A proposal with its number, its reason and what it changes."""
        self.line(f"[{number}] {who(proposal.proposed_by)} proposes, {proposal.kind}:", "ask")
        if proposal.rationale:
            self.line(f"    {proposal.rationale}")
        if proposal.result is None:
            self.line("    archive it")
            return
        lines = list(_changes(before, proposal.result))
        for text, style in lines[:DIFF_LINES]:
            self.line(f"    {text}", style)
        if len(lines) > DIFF_LINES:
            self.line(f"    … {len(lines) - DIFF_LINES} more lines", "quiet")
        self.line(f"    /accept {number}   /reject {number} REASON", "quiet")

    def request(self, request: core.DeferredRequest) -> None:
        """What a paused run waits for, and how to answer it."""
        args = {name: value for name, value in request.args.items() if value is not None}
        if request.metadata:
            args.setdefault("metadata", request.metadata)
        if request.kind == "approval":
            self.line(f"May the agent use {request.tool_name}?", "ask")
            for name, value in args.items():
                self.line(f"    {name}: {_said(value)}")
            self.line("    y to approve, n to refuse, n with words to say why", "quiet")
            return
        self.line(str(args.pop("question", None) or f"{request.tool_name} asks:"), "ask")
        for number, choice in enumerate(choices_of(request), start=1):
            self.line(f"    {number}  {choice}")
        for name, value in args.items():
            if name != "choices":
                self.line(f"    {name}: {_said(value)}")


def choices_of(request: core.DeferredRequest) -> list[str]:
    """The answers that a question offers."""
    choices = request.args.get("choices") if request.kind == "question" else None
    return [str(each) for each in choices] if isinstance(choices, list) else []


def plain(text: str) -> str:
    """The text without what a terminal would carry out."""
    return "".join(each for each in text if each in "\n\t" or each.isprintable())


def _changes(
    before: dict[str, Any] | None, after: dict[str, Any]
) -> Iterator[tuple[str, str | None]]:
    old, new = ([] if data is None else _lines(data) for data in (before, after))
    styles = {"+": "added", "-": "removed", "@": "quiet"}
    for line in list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]:
        yield line, styles.get(line[0])


def _lines(data: dict[str, Any]) -> list[str]:
    if set(data) == {"text"} and isinstance(data["text"], str):
        return data["text"].split("\n")
    return json.dumps(data, indent=2, ensure_ascii=False).split("\n")


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
