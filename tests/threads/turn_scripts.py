"""The scripts of agents' turns: what a model says, what people do, and the log that comes of it.

A script is JSON. `model` holds the model's steps, each after what people do `meanwhile` and with
what it `sees` in that request; `script` what happens one after the other, a turn among it; `log`
each event that comes of it, with who wrote it and the fields that matter. `@type.field` is a value
of the newest event of that type; `$name` in the log is any value, and the same one everywhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_ai import CallDeferred, DeferredToolRequests, RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.tools import Tool

from artifacts import clock, core
from artifacts.core import command_adapter
from artifacts.core.actors import Actor
from artifacts.pool import in_pool
from tests.support.cast import ANA, BEN
from tests.support.kinds import Board, Paper
from tests.support.models import Script, agent_with
from tests.threads.dying import Killed
from threads.agent import ArtifactDraft, ArtifactWorkspace, Session
from threads.services.door import execute
from threads.services.watching import stop_run

FOLDER = Path(__file__).parent.parent / "conformance" / "turns"
PEOPLE: dict[str, Actor] = {"ana": ANA, "ben": BEN}
Context = RunContext[Session[Any]]


class Verdict(BaseModel):
    """An answer that is no text."""

    good: bool


async def draft(ctx: Context) -> str:
    """Show a draft."""
    await ctx.emit(ArtifactDraft(kind="paper", snapshot={"text": "So far"}))
    return "shown"


def mail(ctx: Context, to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def measure(ctx: Context) -> str:
    """Have somebody measure."""
    raise CallDeferred


async def edit_at(ctx: Context, base_version: int, old: str, new: str) -> str:
    """Change art_1 as it was at a version."""
    edits = core.TextEdits(edits=(core.TextEdit(old=old, new=new),))
    await ctx.deps.workspace.acommit(
        core.EditArtifact(artifact_id="art_1", base_version=base_version, patch=edits)
    )
    return "changed"


def crash(ctx: Context) -> str:
    """Fail as no tool should."""
    raise KeyError("secret")


TOOLS = [draft, Tool(mail, requires_approval=True), measure, edit_at, crash]


@dataclass(frozen=True)
class TurnScript:
    """One script as its file has it."""

    file: str
    raw: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.file}: {self.raw['name']}"


def scripts() -> Iterator[TurnScript]:
    for path in sorted(FOLDER.glob("*.json")):
        for raw in json.loads(path.read_text()):
            yield TurnScript(path.stem, raw)


class Playing:
    """A script that is played in a thread."""

    def __init__(self, script: TurnScript, workspace: Any, thread_id: str) -> None:
        self.raw = script.raw
        self.workspace, self.thread_id = workspace, thread_id
        self.model = Script(*(self._step(each) for each in self.raw["model"]))
        self.before = 0

    @property
    def agent(self) -> Any:
        capability = ArtifactWorkspace(types=[Paper, Board], notices=self.raw.get("notices", False))
        answers: list[Any] = [Verdict] if self.raw.get("output") == "verdict" else [str]
        return agent_with(
            self.model.model,
            capabilities=[capability],
            tools=TOOLS,
            output_type=[*answers, DeferredToolRequests],
        )

    def prepare(self) -> None:
        for each in self.raw.get("before", ()):
            self.act(each)
        self.before = self.workspace.head_seq()

    def act(self, deed: dict[str, Any]) -> None:
        """One command of a person, or what happens to the process that runs the turn."""
        ((who, what),) = deed.items()
        if who == "lapse":
            with clock.moved(timedelta(hours=1)):
                assert self.workspace.acquire_lease(f"thread:{self.thread_id}", "another", 7200)
            return
        handle, command = self.workspace.as_actor(PEOPLE[who]), self._filled(what)
        if command["type"] == "stop_run":
            stop_run(handle, command["run_id"])
        else:
            execute(handle, command_adapter.validate_python(command))

    def events(self) -> list[core.Envelope]:
        found: list[core.Envelope] = self.workspace.read(after_seq=self.before)
        return found

    # The model

    def _step(self, raw: dict[str, Any]) -> Callable[[list[ModelMessage]], Any]:
        async def step(messages: list[ModelMessage]) -> ModelResponse:
            told = json.dumps([str(part) for part in messages[-1].parts])
            for text in raw.get("sees", ()):
                assert self._filled(text) in told, f"{text!r} is not in {told}"
            for deed in raw.get("meanwhile", ()):
                await in_pool(self.act, deed)
            return await self._response(raw)

        return step

    async def _response(self, raw: dict[str, Any]) -> ModelResponse:
        if "dies" in raw:
            raise Killed
        if "fails" in raw:
            raise ModelHTTPError(raw["fails"], "a model", {"error": "secret"})
        if "waits" in raw:
            await asyncio.Event().wait()
        parts: list[Any] = [TextPart(raw["say"])] if "say" in raw else []
        for name, args in raw.get("calls", ()):
            parts.append(ToolCallPart(name, self._filled(args)))
        return ModelResponse(parts=parts)

    def _filled(self, value: Any) -> Any:
        """The value with what the log has by now."""
        if isinstance(value, dict):
            return {name: self._filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if value == "$thread":
            return self.thread_id
        if isinstance(value, str) and value.startswith("@"):
            return self._newest(*value[1:].split("."))
        return value

    def _newest(self, kind: str, *path: str) -> Any:
        events = [each.event for each in self.workspace.read() if each.event.type == kind]
        found: Any = events[-1].model_dump(mode="json")
        for name in path:
            found = found[int(name)] if name.isdecimal() else found[name]
        return found

    # The log

    def differences(self) -> list[str]:
        """What is not as the script tells."""
        found = [_told(each) for each in self.events()]
        wanted = self.raw["log"]
        if [each["type"] for each in found] != [each["type"] for each in wanted]:
            return [f"the log is {json.dumps(found, indent=1)}"]
        bound: dict[str, Any] = {"$thread": self.thread_id}
        return [
            f"event {place}: {name} of {got}, expected {value}"
            for place, (got, want) in enumerate(zip(found, wanted, strict=True))
            for name, value in want.items()
            if not _fits(got.get(name), value, bound)
        ]


def _told(envelope: core.Envelope) -> dict[str, Any]:
    return {"by": _who(envelope.actor), **envelope.event.model_dump(mode="json")}


def _who(actor: Actor) -> str:
    if isinstance(actor, core.AgentActor):
        return f"agent for {_who(actor.on_behalf_of)}" if actor.on_behalf_of else "agent"
    names = {person.participant: name for name, person in PEOPLE.items()}
    return names.get(actor.participant, actor.participant)


def _fits(got: Any, wanted: Any, bound: dict[str, Any]) -> bool:
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(
            _fits(got.get(name), value, bound) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(got, list)
            and len(got) == len(wanted)
            and all(_fits(one, other, bound) for one, other in zip(got, wanted, strict=True))
        )
    if isinstance(wanted, str) and wanted.startswith("$"):
        return bool(got == bound.setdefault(wanted, got)) and got is not None
    return bool(got == wanted)
