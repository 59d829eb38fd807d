"""Live frames from a run to watchers: numbered, in order, coalesced, bounded, never in the way."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from artifacts.core.protocol import Draft, PartEnded, PartStarted, TextDelta, ThinkingDelta
from tests.support import live as support
from threads.services import live
from threads.services.live import RunKey, RunLive
from threads.services.live_memory import MemoryStore
from threads.services.live_redis import RedisStore

pytestmark = pytest.mark.once

RUN = RunKey(1, "run_1")


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Either place, and a publisher that writes to it."""
    made: Any
    if request.param == "memory":
        made = MemoryStore()
        monkeypatch.setattr(live, "store", lambda: made)
        yield made
        return
    url = request.getfixturevalue("redis_url")
    made = RedisStore()
    monkeypatch.setattr(live, "store", lambda: made)
    prefix = f"live-{time.monotonic_ns()}"
    with override_settings(CHANNEL_LAYERS=support.layers(support.CORE, url, prefix=prefix)):
        yield made


@pytest.fixture
def publisher() -> Iterator[live.LivePublisher]:
    """One of the test's own, that ends before the store it writes to."""
    made = live.LivePublisher()
    made.start()
    yield made
    made.stop()


def read(store: Any, after: int = 0, wait_seconds: float = 0.0) -> list[tuple[int, dict[str, Any]]]:
    async def go() -> Any:
        try:
            return await store.read(RUN, after=after, wait_seconds=wait_seconds)
        finally:
            await store.aclose()

    return [(number, json.loads(text)["event"]) for number, text in asyncio.run(go())]


def test_what_is_sent_can_be_watched_in_order(store: Any, publisher: live.LivePublisher) -> None:
    run = RunLive(RUN, publisher)
    run.send(PartStarted(part=0, part_kind="text"))
    for word in ("one ", "two ", "three"):
        run.send(TextDelta(part=0, delta=word))
    run.send(PartEnded(part=0))
    run.send(Draft(kind="plan", data={"goal": "ship"}))
    run.close()
    frames = read(store)
    assert [number for number, _ in frames] == list(range(1, len(frames) + 1))
    texts = [event["delta"] for _, event in frames if event["type"] == "text_delta"]
    assert "".join(texts) == "one two three"
    assert [event["type"] for _, event in frames if event["type"] != "text_delta"] == [
        "part_started",
        "part_ended",
        "draft",
    ]
    run.send(PartEnded(part=9))  # after its end nothing is taken
    assert read(store, after=frames[-1][0]) == []


def test_deltas_that_come_together_are_one_frame(store: Any, publisher: live.LivePublisher) -> None:
    run = RunLive(RUN, publisher)
    for number in range(500):
        run.send(TextDelta(part=0, delta=f"{number} "))
    run.send(ThinkingDelta(part=0, delta="hm"))
    run.send(TextDelta(part=1, delta="else"))
    run.close()
    frames = read(store)
    assert len(frames) < 20
    said = "".join(event["delta"] for _, event in frames if event["part"] == 0)
    assert said == "".join(f"{number} " for number in range(500)) + "hm"
    assert frames[-1][1] == {"type": "text_delta", "part": 1, "delta": "else"}


def test_a_waiting_watcher_is_woken(store: Any, publisher: live.LivePublisher) -> None:
    run = RunLive(RUN, publisher)
    timer = threading.Timer(0.2, run.send, [PartEnded(part=3)])
    timer.start()
    assert read(store, wait_seconds=10) == [(1, {"type": "part_ended", "part": 3})]
    timer.join()


def test_a_run_that_goes_on_elsewhere_counts_on(store: Any, publisher: live.LivePublisher) -> None:
    first = RunLive(RUN, publisher)
    first.send(PartEnded(part=1))
    first.close()
    second = RunLive(RUN, publisher)
    second.send(PartEnded(part=2))
    second.close()
    assert [(number, event["part"]) for number, event in read(store)] == [(1, 1), (2, 2)]


def test_the_oldest_are_forgotten_and_leave_a_hole(
    store: Any, publisher: live.LivePublisher
) -> None:
    with override_settings_kept(LIVE_FRAMES=5):
        run = RunLive(RUN, publisher)
        for number in range(1, 13):
            run.send(PartEnded(part=number))
            if number % 4 == 0:
                time.sleep(0.1)  # so that they are not all dropped before they have a number
        run.close()
        frames = read(store)
    assert [number for number, _ in frames] == [8, 9, 10, 11, 12]
    assert [event["part"] for _, event in frames] == [8, 9, 10, 11, 12]


def test_bytes_are_bounded_too(store: Any, publisher: live.LivePublisher) -> None:
    with override_settings_kept(LIVE_BYTES=1_000):
        run = RunLive(RUN, publisher)
        for number in range(20):
            run.send(Draft(kind="plan", data={"text": "x" * 200, "number": number}))
        run.close()
        frames = read(store)
    assert 1 <= len(frames) <= 4
    assert frames[-1][0] == 20


def test_a_store_that_hangs_does_not_hold_up_the_run(
    publisher: live.LivePublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(MemoryStore):
        async def append(self, *args: Any, **kwargs: Any) -> None:
            await asyncio.sleep(60)

    hanging, healthy = Hanging(), MemoryStore()
    monkeypatch.setattr(live, "STORE_SECONDS", 0.1)
    monkeypatch.setattr(live, "store", lambda: hanging)
    with override_settings_kept(LIVE_FRAMES=100):
        run = RunLive(RUN, publisher)
        for number in range(1, 5_001):
            run.send(PartEnded(part=number))
        assert len(run._pending) <= 100
        time.sleep(0.3)
        monkeypatch.setattr(live, "store", lambda: healthy)
        run.send(PartEnded(part=5_001))
        run.close(60)
    # Numbers count what was lost, so a watcher knows how much that was.
    assert read(healthy)[-1] == (5_001, {"type": "part_ended", "part": 5_001})


def test_frames_are_kept_for_a_while_after_the_end(publisher: live.LivePublisher) -> None:
    kept = MemoryStore()

    async def go() -> None:
        with override_settings_kept(LIVE_KEPT_SECONDS=600):
            await kept.append(RUN, [(1, "x")], first_kept=0, is_ended=True)
            await kept.append(RunKey(1, "run_2"), [(1, "x")], first_kept=0, is_ended=False)
            assert await kept.read(RUN, after=0, wait_seconds=0) == [(1, "x")]
        with override_settings_kept(LIVE_KEPT_SECONDS=-1):
            await kept.append(RunKey(1, "run_3"), [], first_kept=0, is_ended=False)
        assert await kept.last_number(RUN) == 0
        assert await kept.last_number(RunKey(1, "run_2")) == 1

    asyncio.run(go())


def override_settings_kept(**settings: int) -> Any:
    """Settings of ours beside whatever else a test has set."""
    return override_settings(ARTIFACTR=settings)
