"""Live output: what a model's stream holds, as frames for whoever watches, and never in the log.

    await agent.run(prompt, deps=session, event_stream_handler=forward_live(channel))

The frames carry no weight: a channel that is slow, away or broken costs the run nothing.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import AsyncIterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_ai import AgentStreamEvent, CustomEvent, RunContext
from pydantic_ai.agent import EventStreamHandler
from pydantic_ai.messages import (
    ModelResponsePart,
    NativeToolCallPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_core import from_json, to_json

from artifacts import conf
from artifacts.core.protocol import (
    AppLive,
    Draft,
    LiveEvent,
    PartEnded,
    PartStarted,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
)
from artifacts.core.values import is_id
from threads.services.live import DELTA_CHARS, RunLive

from .session import LiveChannel

log = logging.getLogger(__name__)

PartKind = Literal["text", "thinking", "tool_call"]
Delta = type[TextDelta] | type[ThinkingDelta] | type[ToolArgsDelta]


@dataclass(kw_only=True)
class ArtifactDraft(CustomEvent, name="artifactr.draft"):
    """An artifact as far as it is generated: `await ctx.emit(ArtifactDraft(kind=…, snapshot=…))`.

    Watchers see it as a `draft` frame. It is a picture only; the artifact is what a tool commits.
    """

    kind: str
    snapshot: Any
    artifact_id: str | None = None


class NullChannel:
    """Nobody watches."""

    def send(self, event: LiveEvent) -> None:
        """Drop it."""


def forward_live(channel: LiveChannel, *, first_part: int = 0) -> EventStreamHandler[Any]:
    """A handler of the agent's event stream that sends a run's live frames into `channel`.

    Parts are numbered over the whole run, from `first_part` on where a paused run goes on.
    """
    frames = _Frames(_unhurried(channel), first_part)

    async def forward(ctx: RunContext[Any], events: AsyncIterable[AgentStreamEvent]) -> None:
        frames.next_response()
        async for event in events:
            frames.take(event)

    return forward


class _Frames:
    """The frames of one run in the making."""

    def __init__(self, channel: LiveChannel, first_part: int) -> None:
        self._channel = channel
        self._next = first_part
        self._numbers: dict[int, int] = {}  # of the parts of this response, by their place in it
        self._has_failed = False

    def next_response(self) -> None:
        """Places of parts begin again; numbers go on."""
        self._numbers.clear()

    def take(self, event: AgentStreamEvent) -> None:
        try:
            for frame in self._of(event):
                self._channel.send(frame)
        except Exception:
            if not self._has_failed:  # one line for each run, however many frames are lost
                log.warning("live frames of a run are lost", exc_info=True)
            self._has_failed = True

    def _of(self, event: AgentStreamEvent) -> Iterator[LiveEvent]:
        match event:
            case PartStartEvent(index=place, part=part):
                yield from self._started(place, part)
            case PartDeltaEvent(index=place, delta=delta) if place in self._numbers:
                yield from _delta(self._numbers[place], delta)
            case PartEndEvent(index=place) if place in self._numbers:
                yield PartEnded(part=self._numbers.pop(place))
            case CustomEvent() if event.ui:
                yield from _emitted(event)

    def _started(self, place: int, part: ModelResponsePart) -> Iterator[LiveEvent]:
        match part:
            case TextPart(content=content):
                yield self._part(place, "text")
                yield from _grown(TextDelta, self._numbers[place], content)
            case ThinkingPart(content=content):
                yield self._part(place, "thinking")
                yield from _grown(ThinkingDelta, self._numbers[place], content)
            case ToolCallPart() | NativeToolCallPart():
                yield self._part(place, "tool_call", _clean(part.tool_name))
                yield from _grown(ToolArgsDelta, self._numbers[place], part.args)

    def _part(self, place: int, kind: PartKind, tool_name: str | None = None) -> PartStarted:
        self._numbers[place], self._next = self._next, self._next + 1
        return PartStarted(part=self._numbers[place], part_kind=kind, tool_name=tool_name)


def _delta(number: int, delta: Any) -> Iterator[LiveEvent]:
    match delta:
        case TextPartDelta():
            yield from _grown(TextDelta, number, delta.content_delta)
        case ThinkingPartDelta():
            yield from _grown(ThinkingDelta, number, delta.content_delta)
        case ToolCallPartDelta():
            yield from _grown(ToolArgsDelta, number, delta.args_delta)


def _grown(delta: Delta, number: int, added: Any) -> Iterator[LiveEvent]:
    """What a part has more, if anything, as frames of a bounded size; arguments may come as a whole
    object, and an answer of a model that does not stream as one text."""
    if added:
        text = added if isinstance(added, str) else to_json(added, fallback=repr).decode()
        for start in range(0, len(text), DELTA_CHARS):
            yield delta(part=number, delta=_clean(text[start : start + DELTA_CHARS]))


def _emitted(event: CustomEvent) -> Iterator[LiveEvent]:
    data = _plain(event.snapshot if isinstance(event, ArtifactDraft) else event.to_payload())
    if len(data) > conf.settings().LIVE_BYTES:
        log.warning("a live frame of %d bytes is more than LIVE_BYTES", len(data))
    elif isinstance(event, ArtifactDraft):
        artifact_id = event.artifact_id if is_id(event.artifact_id) else None
        yield Draft(kind=_clean(event.kind), data=from_json(data), artifact_id=artifact_id)
    else:
        yield AppLive(name=_clean(event.name), data=from_json(data))


def _plain(value: Any) -> bytes:
    """As JSON, whatever an application put in: what cannot be said is described."""
    return to_json(value, fallback=repr, inf_nan_mode="null")


def _clean(text: str) -> str:
    """A model's words in the form frames may have: without NUL or half characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _unhurried(channel: LiveChannel) -> LiveChannel:
    """The channel, or one in front of it where sending may take its time."""
    return channel if isinstance(channel, RunLive | NullChannel) else _Relay(channel)


class _Relay:
    """Sends on a thread of its own, in order; where too much waits, the oldest is dropped."""

    def __init__(self, channel: LiveChannel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._waiting: deque[LiveEvent] = deque(maxlen=conf.settings().LIVE_FRAMES)
        self._is_sending = self._has_failed = False

    def send(self, event: LiveEvent) -> None:
        with self._lock:
            self._waiting.append(event)
            if self._is_sending:
                return
            self._is_sending = True
        threading.Thread(target=self._send_all, name="live-relay", daemon=True).start()

    def _send_all(self) -> None:
        while (event := self._oldest()) is not None:
            try:
                self._channel.send(event)
            except Exception:
                if not self._has_failed:
                    log.warning("a live channel fails", exc_info=True)
                self._has_failed = True

    def _oldest(self) -> LiveEvent | None:
        with self._lock:
            self._is_sending = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None
