"""One follower for many readers: pushes may be lost, late, doubled or out of order; readers have
every event once, in order, and each event is framed once."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from artifacts.core.visibility import NOTHING_HIDDEN, Hidden
from artifacts.extensions import StoredEvent
from threads.surfaces import follower as module
from threads.surfaces.events import Frame, LogEvent, event_frame
from threads.surfaces.follower import RECENT, Follower

pytestmark = pytest.mark.once

READERS = 40


def event(seq: int, type: str = "app_event", **members: Any) -> LogEvent:
    body = {"type": type, **members.pop("event", {})}
    text = json.dumps({"seq": seq, "event": body}, separators=(",", ":"))
    values = {"thread_id": None, "run_id": None, "mentions": "", "text": text, **members}
    return LogEvent(seq=seq, type=type, **values)


class Log:
    """The table, as far as a follower asks: windows of it, each after a moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[LogEvent] = []
        self.reads = 0
        self.fails = False
        monkeypatch.setattr(module, "in_pool", self._in_pool)
        monkeypatch.setattr(module, "on_append", lambda pk, wake: lambda: None)

    def append(self, *events: LogEvent) -> None:
        self.events.extend(events)

    async def _in_pool(self, call: Callable[..., Any], *args: Any) -> Any:
        await asyncio.sleep(0.001)
        if call is module._standing:
            return len(self.events), {}
        self.reads += 1
        if self.fails:
            raise ConnectionError
        window = args[1]
        return [
            StoredEvent(e.seq, "", e.type, e.thread_id, e.run_id, None, e.mentions, None, e.text)  # type: ignore[arg-type]
            for e in self.events[window.after_seq : window.after_seq + window.limit]
        ]


class Reader:
    """What a follower sees of a subscription."""

    def __init__(
        self,
        *,
        threads: frozenset[str] | None = None,
        hidden: Hidden = NOTHING_HIDDEN,
        frame: Frame = event_frame,
        cursor: int = 0,
        room: int = 1_000,
    ) -> None:
        self.threads, self.hidden, self.frame, self.cursor = threads, hidden, frame, cursor
        self.frames: list[str] = []
        self._room = room

    def take(self, event: LogEvent, frame: str | None) -> bool:
        if len(self.frames) >= self._room:
            return False
        self.cursor = event.seq
        if frame is not None:
            self.frames.append(frame)
        return True

    @property
    def seqs(self) -> list[int]:
        return [json.loads(frame)["seq"] for frame in self.frames]


def follower() -> Any:
    return Follower(1, on_run_ended=lambda *_: None)


async def caught_up(follower: Follower, head: int) -> None:
    async with asyncio.timeout(60):
        while follower.head < head:  # noqa: ASYNC110 - it tells nobody else
            await asyncio.sleep(0.001)


def ran(test: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(test)


def unreliable(count: int, rng: random.Random) -> list[int]:
    """Pushes of 1..count as a bad layer delivers them: some lost, doubled, late or swapped."""
    seqs = [seq for seq in range(1, count + 1) if rng.random() > 0.2]
    seqs += rng.sample(seqs, count // 10)
    return sorted(seqs, key=lambda seq: seq + rng.uniform(0, 6))


def test_whatever_the_layer_does_readers_have_everything_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    log = Log(monkeypatch)

    async def go() -> tuple[list[int], list[int]]:
        followed, reader = follower(), Reader()
        await followed.start()
        assert followed.attach(reader)
        naive: list[int] = []
        log.append(*(event(seq) for seq in range(1, 401)))
        for seq in unreliable(400, rng):
            naive.append(seq)
            followed.push([log.events[seq - 1]], seq)
            if rng.random() < 0.1:
                await asyncio.sleep(0.002)
        followed.note_head(400)  # what the poll says
        await caught_up(followed, 400)
        followed.stop()
        return reader.seqs, naive

    seqs, naive = ran(go())
    assert seqs == list(range(1, 401))
    # The control: handing pushes on as they come gives something else.
    assert naive != list(range(1, 401))


def test_pushes_that_continue_the_log_need_no_read(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)

    async def go() -> None:
        followed, reader = follower(), Reader()
        await followed.start()
        followed.attach(reader)
        followed.push([event(2), event(3)], 3)  # early, by less than the gap's time
        followed.push([event(1)], 3)
        followed.push([event(4)], 4)
        await asyncio.sleep(module.GAP_SECONDS * 3)
        assert reader.seqs == [1, 2, 3, 4]
        assert log.reads == 0
        followed.stop()

    ran(go())


def test_a_gap_that_stays_is_read_and_so_is_a_push_without_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log(monkeypatch)

    async def go() -> None:
        followed, reader = follower(), Reader()
        await followed.start()
        followed.attach(reader)
        log.append(event(1), event(2), event(3))
        followed.push([event(3)], 3)
        await caught_up(followed, 3)
        log.append(event(4))
        followed.push([], 4)
        await caught_up(followed, 4)
        assert reader.seqs == [1, 2, 3, 4]
        assert log.reads == 2
        followed.stop()

    ran(go())


def test_a_read_that_fails_is_made_good_by_the_next_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)

    async def go() -> None:
        followed, reader = follower(), Reader()
        await followed.start()
        followed.attach(reader)
        log.append(event(1))
        log.fails = True
        followed.note_head(1)
        async with asyncio.timeout(60):
            while not log.reads:  # noqa: ASYNC110 - it tells nobody else
                await asyncio.sleep(0.001)
        assert reader.seqs == []
        log.fails = False
        followed.note_head(1)
        await caught_up(followed, 1)
        assert reader.seqs == [1]
        followed.stop()

    ran(go())


@pytest.mark.parametrize("readers", [1, READERS])
def test_an_event_is_framed_once_however_many_read_it(
    monkeypatch: pytest.MonkeyPatch, readers: int
) -> None:
    Log(monkeypatch)

    async def go() -> None:
        followed = follower()
        await followed.start()
        everyone = [Reader() for _ in range(readers)]
        for reader in everyone:
            followed.attach(reader)
        for seq in range(1, 101):
            followed.push([event(seq)], seq)
        assert followed.framed == 100
        assert all(reader.seqs == list(range(1, 101)) for reader in everyone)
        # The very same text, not one that is equal.
        assert len({id(reader.frames[50]) for reader in everyone}) == 1

    ran(go())


def test_who_may_not_see_everything_gets_less_and_the_others_the_shared_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Log(monkeypatch)

    async def go() -> None:
        followed = follower()
        await followed.start()
        open_reader = Reader()
        barred = Reader(hidden=Hidden(threads=frozenset({"thr_x"}), artifacts=frozenset({"art_x"})))
        for reader in (open_reader, barred):
            followed.attach(reader)
        focus = {"thread_id": "thr_1", "artifact_ids": ["art_x", "art_1"]}
        events = [
            event(1, "artifact_created", mentions="art_x"),
            event(2, "artifact_created", mentions="art_1"),
            event(3, "message_posted", thread_id="thr_x", mentions="thr_x"),
            event(4, "focus_changed", thread_id="thr_1", mentions="thr_1/art_x/art_1", event=focus),
        ]
        followed.push(events, 4)
        assert open_reader.seqs == [1, 2, 3, 4]
        assert barred.seqs == [2, 4]
        assert barred.cursor == 4
        assert json.loads(barred.frames[1])["event"]["artifact_ids"] == ["art_1"]
        assert barred.frames[0] is open_reader.frames[1]
        assert followed.framed == 4

    ran(go())


def test_threads_are_followed_by_those_who_named_them(monkeypatch: pytest.MonkeyPatch) -> None:
    Log(monkeypatch)

    async def go() -> None:
        followed = follower()
        await followed.start()
        everything, one, none = (
            Reader(),
            Reader(threads=frozenset({"a"})),
            Reader(threads=frozenset()),
        )
        for reader in (everything, one, none):
            followed.attach(reader)
        followed.push(
            [
                event(1, "message_posted", thread_id="a"),
                event(2, "message_posted", thread_id="b"),
                event(3, "proposal_created", thread_id="b"),
                event(4, "app_event"),
            ],
            4,
        )
        assert (everything.seqs, one.seqs, none.seqs) == ([1, 2, 3, 4], [1, 3, 4], [3, 4])

    ran(go())


def test_a_reader_is_taken_in_only_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)

    async def go() -> None:
        followed = follower()
        await followed.start()
        events = [event(seq) for seq in range(1, RECENT + 51)]
        log.append(*events)
        followed.push(events, len(events))
        head = len(events)
        far, near, crowded = (
            Reader(cursor=10),
            Reader(cursor=head - 3),
            Reader(cursor=head - 3, room=2),
        )
        ahead = Reader(cursor=head + 2)
        assert not followed.attach(far)
        assert not followed.attach(crowded)
        assert crowded.seqs == [head - 2, head - 1]
        assert followed.attach(near)
        assert near.seqs == [head - 2, head - 1, head]
        assert followed.attach(ahead)
        followed.push([event(head + 1), event(head + 2), event(head + 3)], head + 3)
        assert near.seqs[-3:] == [head + 1, head + 2, head + 3]
        assert ahead.seqs == [head + 3]

    ran(go())


def test_runs_that_have_not_ended_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    Log(monkeypatch)
    ended: list[tuple[int, str]] = []

    async def go() -> None:
        followed = Follower(1, on_run_ended=lambda pk, run: ended.append((pk, run)))
        await followed.start()
        for seq, (type, run) in enumerate(
            [("run_started", "r1"), ("run_started", "r2"), ("run_ended", "r1")], start=1
        ):
            followed.push([event(seq, type, thread_id="t", run_id=run)], seq)
        assert followed.active == {"r2": "t"}

    ran(go())
    assert ended == [(1, "r1")]
