"""The model's stream as live frames: in order, numbered over the run, and never in its way."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pydantic_ai import Agent, CustomEvent, RunContext
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from artifacts.core.protocol import AppLive, Draft, LiveEvent
from tests.support.models import Script, call, say
from threads.agent import ArtifactDraft, forward_live

PATIENCE = 60


class Kept:
    """A channel that keeps what it was sent."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self._changed = threading.Condition()

    def send(self, event: LiveEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def after(self, count: int) -> list[Any]:
        """What came, once it is so much."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.events) >= count, PATIENCE)
        assert came, f"{len(self.events)} of {count} frames came"
        return self.events


def texts(events: list[Any], kind: str) -> dict[int, str]:
    """The deltas of a kind, put together by part."""
    found: dict[int, str] = {}
    for each in events:
        if each.type == kind:
            found[each.part] = found.get(each.part, "") + each.delta
    return found


def run(*steps: Any, channel: Any = None, tools: Any = (), **kwargs: Any) -> tuple[str, Any]:
    channel = channel or Kept()
    agent = Agent(Script(*steps).model, tools=tools)
    handler = forward_live(channel, **kwargs)
    result = async_to_sync(agent.run)("Go", event_stream_handler=handler)
    return result.output, channel


def look(number: int) -> str:
    """Look."""
    return f"seen {number}"


def test_parts_come_in_order_and_are_numbered_over_the_run() -> None:
    thinking = ModelResponse(
        parts=[ThinkingPart("What is it? "), ToolCallPart("look", {"number": 1234567})]
    )
    output, channel = run(thinking, call("look", number=2), say("It is this."), tools=[look])
    events = channel.after(16)
    assert output == "It is this."
    started = [(each.part, each.part_kind) for each in events if each.type == "part_started"]
    assert started == [(0, "thinking"), (1, "tool_call"), (2, "tool_call"), (3, "text")]
    assert [each.part for each in events if each.type == "part_ended"] == [0, 1, 2, 3]
    names = [each.tool_name for each in events if each.type == "part_started"]
    assert names == [None, "look", "look", None]
    assert texts(events, "thinking_delta") == {0: "What is it? "}
    assert texts(events, "tool_args_delta") == {1: '{"number":1234567}', 2: '{"number":2}'}
    assert texts(events, "text_delta") == {3: "It is this."}
    # Between its start and its end a part has the stream to itself.
    parts = [each.part for each in events]
    assert parts == sorted(parts)


def test_a_run_that_goes_on_numbers_on() -> None:
    _, channel = run(say("Again"), first_part=7)
    assert {each.part for each in channel.after(3)} == {7}


def test_text_is_clean_enough_for_a_frame() -> None:
    _, channel = run(ModelResponse(parts=[TextPart("a\0b \ud800c")]))
    channel.after(4)
    assert texts(channel.events, "text_delta") == {0: "ab ?c"}


@dataclass(kw_only=True)
class Progress(CustomEvent, name="test.progress"):
    done: int
    of: Any = None


@dataclass(kw_only=True)
class Private(CustomEvent, name="test.private", ui=False):
    secret: str


def test_drafts_and_an_applications_events_are_frames() -> None:
    async def draw(ctx: RunContext[Any]) -> str:
        """Draw."""
        await ctx.emit(Progress(done=1, of=object))
        await ctx.emit(Private(secret="canary"))
        await ctx.emit(ArtifactDraft(kind="paper", snapshot={"text": "So fa"}))
        await ctx.emit(
            ArtifactDraft(kind="paper", snapshot={"text": "So far"}, artifact_id="art_1")
        )
        return "drawn"

    _, channel = run(call("draw"), say("ok"), tools=[draw])
    events = channel.after(9)
    emitted = [each for each in events if isinstance(each, Draft | AppLive)]
    assert emitted == [
        AppLive(name="test.progress", data={"done": 1, "of": repr(object)}),
        Draft(kind="paper", data={"text": "So fa"}),
        Draft(kind="paper", data={"text": "So far"}, artifact_id="art_1"),
    ]
    assert "canary" not in str(events)


def test_what_no_frame_may_hold_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    async def draw(ctx: RunContext[Any]) -> str:
        """Draw."""
        await ctx.emit(Progress(done=1, of="\ud800"))
        await ctx.emit(Progress(done=2, of="x" * 2_000_000))
        await ctx.emit(Progress(done=3, of=float("nan")))
        return "drawn"

    output, channel = run(call("draw"), say("ok"), tools=[draw])
    assert output == "ok"
    emitted = [each for each in channel.after(7) if isinstance(each, AppLive)]
    assert emitted == [AppLive(name="test.progress", data={"done": 3, "of": None})]
    assert "LIVE_BYTES" in caplog.text


def test_a_channel_that_fails_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Kept):
        def send(self, event: LiveEvent) -> None:
            super().send(event)
            raise RuntimeError("away")

    output, channel = run(say("All of it."), channel=Broken())
    assert output == "All of it."
    channel.after(5)
    failures = [each for each in caplog.records if "a live channel fails" in each.message]
    assert len(failures) == 1


def test_a_channel_that_hangs_holds_up_nobody() -> None:
    """The run ends while the first frame is still on its way; the rest comes later, in order."""
    go_on = threading.Event()

    class Stuck(Kept):
        def send(self, event: LiveEvent) -> None:
            assert go_on.wait(PATIENCE)
            super().send(event)

    output, channel = run(say("One two three"), channel=Stuck())
    assert output == "One two three"
    assert channel.events == []
    go_on.set()
    assert texts(channel.after(5), "text_delta") == {0: "One two three"}
    assert [each.type for each in channel.events] == [
        "part_started",
        *["text_delta"] * 3,
        "part_ended",
    ]


def test_a_hanging_channel_keeps_the_newest(settings: Any) -> None:
    settings.ARTIFACTR = {**settings.ARTIFACTR, "LIVE_FRAMES": 3}
    reached, go_on = threading.Event(), threading.Event()

    class Stuck(Kept):
        def send(self, event: LiveEvent) -> None:
            reached.set()
            assert go_on.wait(PATIENCE)
            super().send(event)

    def wait() -> str:
        """Until the first frame is on its way."""
        assert reached.wait(PATIENCE)
        return "waited"

    _, channel = run(call("wait"), say("a b c d e f g h"), channel=Stuck(), tools=[wait])
    go_on.set()
    events = channel.after(4)
    assert (events[0].type, events[0].part) == ("part_started", 0)
    assert texts(events[1:], "text_delta") == {1: "g h"}
    assert events[-1].type == "part_ended"
