"""The frames of protocol `artifactr.v1`. Models only: no surface's behaviour is here."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, model_validator
from pydantic.json_schema import models_json_schema

from .artifact import Versioned
from .commands import ClientCommand, StopRun, WatchRun
from .events import Envelope
from .outcomes import Outcome
from .state import Group, Proposal, Revision, Run, Thread
from .values import Id, Text, Value

PROTOCOL = "artifactr.v1"


class Hello(Value):
    """A client's first frame."""

    type: Literal["hello"] = "hello"
    protocol: Text
    resume_after_seq: Annotated[int, Field(ge=0, strict=True)] = 0
    from_head: bool = False
    threads: tuple[Id, ...] | None = None

    @model_validator(mode="after")
    def _one_start(self) -> Hello:
        if self.from_head and self.resume_after_seq:
            raise ValueError("from_head replays nothing, so resume_after_seq must be 0")
        return self


class CommandFrame(Value):
    """A command, and the id under which its sender may repeat it."""

    type: Literal["command"] = "command"
    command_id: Id
    command: ClientCommand


class ActiveRun(Value):
    """A run that has not ended."""

    run_id: Id
    thread_id: Id


class Welcome(Value):
    """The answer to `hello`. With `reset`, the client forgets what it has seen."""

    type: Literal["welcome"] = "welcome"
    protocol: Text = PROTOCOL
    workspace_id: Id
    head_seq: int
    reset: bool = False
    active_runs: tuple[ActiveRun, ...] = ()


class EventFrame(Envelope):
    """An envelope on the wire: its own members beside the frame's type."""

    type: Literal["event"] = "event"


class ReplayComplete(Value):
    """Everything up to this seq was sent; what follows is live."""

    type: Literal["replay_complete"] = "replay_complete"
    up_to_seq: int


class PartStarted(Value):
    type: Literal["part_started"] = "part_started"
    part: int
    part_kind: Literal["text", "thinking", "tool_call"]
    tool_name: Text | None = None


class TextDelta(Value):
    type: Literal["text_delta"] = "text_delta"
    part: int
    delta: Text


class ThinkingDelta(Value):
    type: Literal["thinking_delta"] = "thinking_delta"
    part: int
    delta: Text


class ToolArgsDelta(Value):
    type: Literal["tool_args_delta"] = "tool_args_delta"
    part: int
    delta: Text


class PartEnded(Value):
    type: Literal["part_ended"] = "part_ended"
    part: int


class Draft(Value):
    """A draft of an artifact being generated; it is never in the log."""

    type: Literal["draft"] = "draft"
    kind: Text
    data: Any
    artifact_id: Id | None = None


class AppLive(Value):
    """An application's own live event."""

    type: Literal["app_live"] = "app_live"
    name: Text
    data: Any = None


LiveEvent = Annotated[
    PartStarted | TextDelta | ThinkingDelta | ToolArgsDelta | PartEnded | Draft | AppLive,
    Field(discriminator="type"),
]


class Live(Value):
    """What a run produces while it goes on; losing it loses nothing durable."""

    type: Literal["live"] = "live"
    run_id: Id
    event: LiveEvent


class RejectionPayload(Value):
    """A rejection's stable code and message, with the details of its class beside them."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: Text
    message: Text


class CommandResult(Value):
    """What became of a command."""

    type: Literal["command_result"] = "command_result"
    command_id: Id
    ok: bool
    outcome: Outcome | None = None
    rejection: RejectionPayload | None = None


class ErrorFrame(Value):
    """A frame could not be understood."""

    type: Literal["error"] = "error"
    message: Text


ClientFrame = Annotated[Hello | CommandFrame, Field(discriminator="type")]
ServerFrame = Annotated[
    Welcome | EventFrame | ReplayComplete | Live | CommandResult | ErrorFrame,
    Field(discriminator="type"),
]
client_frame_adapter: TypeAdapter[Hello | CommandFrame] = TypeAdapter(ClientFrame)
server_frame_adapter: TypeAdapter[
    Welcome | EventFrame | ReplayComplete | Live | CommandResult | ErrorFrame
] = TypeAdapter(ServerFrame)


def protocol_schema() -> dict[str, Any]:
    """The JSON Schema of frames, commands, events and entities, for clients to make types from."""
    from_client = (Hello, CommandFrame)
    from_server = (Welcome, EventFrame, ReplayComplete, Live, CommandResult, ErrorFrame)
    entities = (Envelope, Versioned, Revision, Proposal, Group, Thread, Run, StopRun, WatchRun)
    _, schema = models_json_schema(
        [(model, "validation") for model in (*from_client, *from_server, *entities)],
        title=PROTOCOL,
        ref_template="#/$defs/{model}",
    )
    for definition in schema["$defs"].values():
        _require_tags(definition)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["x-client-frames"] = [model.__name__ for model in from_client]
    schema["x-server-frames"] = [model.__name__ for model in from_server]
    return schema


def protocol_schema_text() -> str:
    """The schema as it is checked in, byte for byte."""
    return json.dumps(protocol_schema(), indent=2, sort_keys=True) + "\n"


def _require_tags(definition: dict[str, Any]) -> None:
    """What tells the members of a union apart has a default in code, and must be on the wire."""
    tags = [name for name, each in definition.get("properties", {}).items() if "const" in each]
    if tags:
        definition["required"] = sorted({*definition.get("required", ()), *tags})
