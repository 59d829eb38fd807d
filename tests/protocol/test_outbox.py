"""What waits for one reader is bounded: durable frames close, live ones are lost and told of."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from django.test import override_settings

from threads.surfaces.closing import TOO_SLOW
from threads.surfaces.outbox import LOST, WRITTEN_CHARS, WRITTEN_FRAMES, Outbox

pytestmark = pytest.mark.once


def ran(test: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(test)


def bounds(**settings: int) -> Any:
    return override_settings(ARTIFACTR=settings)


async def drained(outbox: Outbox) -> list[str]:
    """What waits and goes with one write."""
    return await asyncio.wait_for(outbox.get(), 60)


@bounds(OUTBOX_FRAMES=4)
def test_events_beyond_their_part_are_refused_and_answers_still_fit() -> None:
    async def go() -> None:
        outbox = Outbox()
        assert [outbox.offer_event(str(number)) for number in range(4)] == [True, True, True, False]
        outbox.offer("an answer")
        assert not outbox.is_closed
        outbox.offer("one too many")
        assert outbox.code == TOO_SLOW

    ran(go())


@bounds(OUTBOX_FRAMES=3)
def test_answers_beyond_the_bound_close_the_connection() -> None:
    async def go() -> None:
        outbox = Outbox()
        for number in range(3):
            outbox.offer(str(number))
        assert not outbox.is_closed
        outbox.offer("one too many")
        assert outbox.code == TOO_SLOW
        assert await drained(outbox) == []

    ran(go())


@bounds(OUTBOX_BYTES=10)
def test_so_do_too_many_bytes_but_never_a_single_frame() -> None:
    async def go() -> None:
        outbox = Outbox()
        outbox.offer("x" * 50)
        assert not outbox.is_closed
        outbox.offer("x")
        assert outbox.code == TOO_SLOW

    ran(go())


@bounds(LIVE_FRAMES=3)
def test_live_frames_beyond_the_bound_are_lost_oldest_first_and_told_once() -> None:
    async def go() -> None:
        outbox = Outbox()
        outbox.offer("first")
        for number in range(1, 8):
            outbox.offer_live("run_1", number, f"live {number}")
        outbox.offer("last")
        first, lost, *rest = await drained(outbox)
        assert first == "first"
        assert json.loads(lost) == {
            "type": "live",
            "run_id": "run_1",
            "event": {"type": "app_live", "name": LOST, "data": {"frames": 4}},
        }
        assert rest == ["live 5", "live 6", "live 7", "last"]
        assert not outbox.is_closed

    ran(go())


@bounds(LIVE_BYTES=30)
def test_live_frames_are_bounded_in_bytes_too() -> None:
    async def go() -> None:
        outbox = Outbox()
        for number in range(1, 6):
            outbox.offer_live("run_1", number, f"frame {number}".ljust(10))
        assert len(await drained(outbox)) == 4  # one that tells, three that fit

    ran(go())


@bounds(LIVE_FRAMES=2)
def test_a_reader_that_never_reads_costs_bounded_memory() -> None:
    async def go() -> None:
        outbox = Outbox()
        for number in range(1, 5_000):
            outbox.offer_live("run_1", number, "x")
        assert len(outbox._entries) < 10

    ran(go())


def test_runs_are_told_apart_and_a_frame_comes_once() -> None:
    async def go() -> None:
        outbox = Outbox()
        for number, run in ((1, "a"), (1, "b"), (1, "a"), (2, "a"), (2, "b")):
            outbox.offer_live(run, number, f"{run}{number}")
        outbox.close(1000, after_frames=True)
        assert await drained(outbox) == ["a1", "b1", "a2", "b2"]

    ran(go())


def test_closing_drops_what_waits_or_lets_it_go_first() -> None:
    async def go() -> None:
        dropping, finishing = Outbox(), Outbox()
        for outbox in (dropping, finishing):
            outbox.offer("said before")
        dropping.close(4401)
        finishing.close(4400, after_frames=True)
        finishing.close(4401)  # the first code stays
        assert await drained(dropping) == []
        assert [await drained(finishing), await drained(finishing)] == [["said before"], []]
        assert (dropping.code, finishing.code) == (4401, 4400)

    ran(go())


@bounds(OUTBOX_FRAMES=8)
def test_a_replay_waits_for_room() -> None:
    async def go() -> None:
        outbox = Outbox()
        for number in range(4):
            outbox.offer(str(number))
        assert outbox.is_half_full
        waiting = asyncio.create_task(outbox.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        await drained(outbox)
        await asyncio.wait_for(waiting, 60)

    ran(go())


@pytest.mark.parametrize(
    ("frames", "writes"),
    [
        (["x"] * (WRITTEN_FRAMES + 1), [WRITTEN_FRAMES, 1]),
        (["x" * WRITTEN_CHARS, "y", "z"], [1, 2]),
        (["x", "y" * 2 * WRITTEN_CHARS, "z"], [2, 1]),
    ],
    ids=["many", "large first", "large later"],
)
def test_a_write_is_bounded_and_keeps_the_order(frames: list[str], writes: list[int]) -> None:
    async def go() -> None:
        outbox = Outbox()
        for frame in frames:
            outbox.offer(frame)
        found = [await drained(outbox) for _ in writes]
        assert [len(each) for each in found] == writes
        assert [frame for each in found for frame in each] == frames

    ran(go())
