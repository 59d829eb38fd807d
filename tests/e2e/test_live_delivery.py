"""Every client sees every event once and in order, whatever happens between commit and socket."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.conf import settings
from django.test import override_settings

from artifacts import core, extensions
from artifacts.store import publish
from tests.e2e.conftest import QUICK, Place, meanwhile, with_redis
from tests.support import live
from tests.support.redis import RedisServer

# Whatever reaches a client with this setting was pushed: no poll comes in time.
NEVER: dict[str, Any] = {"FOLLOW_POLL_SECONDS": 3_600.0}
OFTEN: dict[str, Any] = {"FOLLOW_POLL_SECONDS": 0.5}
CREATE = {"type": "create_thread", "title": "A chat"}


def seqs(frames: list[dict[str, Any]]) -> list[int]:
    return [frame["seq"] for frame in frames if frame["type"] == "event"]


# In one process


def test_commands_of_the_same_process_are_pushed_without_a_layer_or_a_poll(
    place: Place, started: Callable[..., live.Server]
) -> None:
    server = started(**QUICK, **NEVER)
    key = place.key()
    with (
        live.client(server, place.id, key=key) as writer,
        live.client(server, place.id, key=key) as reader,
    ):
        writer.live()
        reader.live()
        for number in range(30):
            writer.command(f"c{number}", CREATE)
        assert reader.events(up_to=30) == list(range(1, 31))


def test_commits_of_another_process_come_with_the_next_poll(
    place: Place, started: Callable[..., live.Server]
) -> None:
    """No push at all: it is told of a layer that nobody else sends to."""
    polling = started(**QUICK, **OFTEN, channel_layers=IN_MEMORY)
    deaf = started(**QUICK, **NEVER, channel_layers=IN_MEMORY)
    key = place.key()
    with (
        live.client(polling, place.id, key=key) as reader,
        live.client(deaf, place.id, key=key) as control,
    ):
        reader.live()
        control.live()
        place.say(*"abc")
        assert reader.events(up_to=3) == [1, 2, 3]
        assert control.is_silent(1.5)


IN_MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


def test_events_between_replay_and_live_are_neither_lost_nor_doubled(
    place: Place, server: live.Server
) -> None:
    """Clients join while commits land all the time."""
    key = place.key()
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            place.say("x")

    with meanwhile(write):
        try:
            for _ in range(12):
                with live.client(server, place.id, key=key) as client:
                    replayed = seqs(client.live())
                    seen = replayed + client.events(up_to=(replayed or [0])[-1] + 5)
                    assert seen == list(range(1, len(seen) + 1))
        finally:
            stop.set()


def test_a_reader_that_is_stopped_and_resumed_all_the_time(
    place: Place, server: live.Server
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    key, seen = place.key(), list[int]()
    with meanwhile(lambda: place.say(*["x"] * 300)):
        for _ in range(100):
            with live.client(server, place.id, key=key) as client:
                client.hello(resume_after_seq=seen[-1] if seen else 0)
                for _ in range(rng.randrange(6)):
                    frame = client.receive()
                    if frame["type"] == "event":
                        seen.append(frame["seq"])
    with live.client(server, place.id, key=key) as client:
        seen += seqs(client.live(resume_after_seq=seen[-1] if seen else 0))
    assert seen == list(range(1, 301))


def test_a_long_replay_holds_up_neither_commits_nor_other_clients(
    place: Place, server: live.Server
) -> None:
    with place.workspace.transaction() as tx:
        for number in range(3_000):
            tx.record(core.AppEvent(name="old", data={"number": number}))
    key = place.key()
    with ExitStack() as stack:
        readers = [stack.enter_context(live.client(server, place.id, key=key)) for _ in range(4)]
        quick = stack.enter_context(live.client(server, place.id, key=key))
        quick.hello(from_head=True)
        quick.events_until_live()
        for reader in readers:
            reader.hello()
        place.say("new")
        # While four replays of 3,000 wait to be read, of which nothing was read yet.
        assert quick.events(up_to=3_001) == [3_001]
        for reader in readers:
            assert reader.events(up_to=3_001) == list(range(1, 3_002))


# A slow client


def test_a_slow_socket_is_cut_not_fed_and_resumes(
    place: Place, started: Callable[..., live.Server]
) -> None:
    server = started(**QUICK, OUTBOX_FRAMES=100, OUTBOX_BYTES=1_000_000)
    key, text = place.key(), "x" * 50_000
    with (
        live.client(server, place.id, key=key, sock=live.narrow(server), max_queue=2) as slow,
        live.client(server, place.id, key=key) as quick,
    ):
        quick.live()
        with meanwhile(lambda: quick.events(up_to=100, seconds=60)):
            place.say(*[text] * 100)
        slow.hello(from_head=True)
        slow.events_until_live()
        before = server.memory_kb
        with meanwhile(lambda: quick.events(up_to=800, seconds=60)):
            place.say(*[text] * 700)  # 35 MB, and the slow one reads nothing of it
        # It is quick enough, although most of this came to it in bursts larger than an outbox.
        assert seqs(quick.frames) == list(range(1, 801))
        time.sleep(3)  # longer than who is behind may take
        assert server.memory_kb - before < 16_000
        assert slow.close_code() == 4429
        seen = seqs(slow.frames)
        assert seen == list(range(101, 101 + len(seen)))
        assert len(seen) < 700
    with live.client(server, place.id, key=key, sock=live.narrow(server), max_queue=2) as again:
        # What is behind is never cut, however slowly it reads its replay.
        again.hello(resume_after_seq=seen[-1])
        time.sleep(3)
        assert again.events(up_to=800, seconds=60)[0] == seen[-1] + 1
        assert seen + seqs(again.frames) == list(range(101, 801))


# Crashes


CRASHING = """
import os, sys, django
django.setup()
from artifacts.store import publish
publish.after_commit = lambda committed: os._exit(9)
from artifacts import core, extensions
from artifacts.workspace import open_workspace
workspace = open_workspace(sys.argv[1], actor=core.SystemActor())
workspace.record(core.AppEvent(name="committed"))
"""


def test_a_crash_between_commit_and_push_costs_the_poll_interval(
    place: Place, started: Callable[..., live.Server], tmp_path: Path
) -> None:
    polling, deaf = started(**QUICK, **OFTEN), started(**QUICK, **NEVER)
    key = place.key()
    with (
        live.client(polling, place.id, key=key) as reader,
        live.client(deaf, place.id, key=key) as control,
    ):
        reader.live()
        control.live()
        environment = live.environment(tmp_path, None, {})
        crash = subprocess.run(
            [sys.executable, "-c", CRASHING, place.id], cwd=live.ROOT, env=environment, check=False
        )
        assert crash.returncode == 9
        assert reader.events(up_to=1) == [1]
        assert control.is_silent(1.0)


def test_a_reaction_that_fails_keeps_nothing_from_clients(
    place: Place, server: live.Server
) -> None:
    def fails(committed: Any) -> None:
        raise LookupError

    key = place.key()
    with extensions.isolated(), live.client(server, place.id, key=key) as reader:
        extensions.register_reaction(fails)
        reader.live()
        place.say("a", "b")
        assert reader.events(up_to=2) == [1, 2]


def test_one_of_two_servers_is_killed(place: Place, server: live.Server, tmp_path: Path) -> None:
    """Clients of both, writes through both; one dies, its clients go on at the other."""
    key = place.key()
    with (
        live.serving(tmp_path, **QUICK) as doomed,
        live.client(server, place.id, key=key) as stays,
        live.client(doomed, place.id, key=key) as moves,
    ):
        stays.live()
        moves.live()
        for number in range(10):
            (stays, moves)[number % 2].command(f"c{number}", CREATE)
        seen = moves.events(up_to=5)
        doomed.kill()
        with live.client(server, place.id, key=key) as moved:
            seen = sorted({*seqs(moves.frames), *seen})
            moved.hello(resume_after_seq=seen[-1])
            for number in range(10):  # whatever was answered or not, the same ids again
                moved.command(f"c{number}", CREATE)
            answers = {moved.next("command_result")["command_id"] for _ in range(10)}
            assert answers == {f"c{number}" for number in range(10)}
            head = place.workspace.head_seq()
            assert head == 10
            seen += [seq for seq in seqs(moved.frames) if seq > seen[-1]]
            if seen[-1] < head:
                seen += moved.events(up_to=head)
        assert seen == list(range(1, 11))
        assert stays.events(up_to=10)[-1] == 10 or seqs(stays.frames) == list(range(1, 11))
        assert seqs(stays.frames) == list(range(1, 11))


# Redis


@with_redis
@pytest.mark.parametrize("backend", [live.CORE, live.PUBSUB])
def test_commits_of_other_processes_are_pushed(
    place: Place, started: Callable[..., live.Server], backend: str
) -> None:
    layers = live.layers(backend, str(settings.REDIS_URL), prefix=f"push-{backend[-9:]}")
    server = started(**QUICK, **NEVER, channel_layers=layers)
    with (
        live.client(server, place.id, key=place.key()) as reader,
        override_settings(CHANNEL_LAYERS=layers),
    ):
        reader.live()
        time.sleep(1.0)  # the group is joined in the background
        place.say(*[str(number) for number in range(50)])
        assert reader.events(up_to=50) == list(range(1, 51))


@with_redis
@pytest.mark.parametrize("backend", [live.CORE, live.PUBSUB])
def test_over_capacity_loses_nothing_at_the_client(
    place: Place, started: Callable[..., live.Server], backend: str
) -> None:
    """The core layer drops beyond its capacity and tells nobody; the pub/sub one has none."""
    capacity = {"capacity": 3} if backend == live.CORE else {}
    layers = live.layers(
        backend, str(settings.REDIS_URL), prefix=f"full-{backend[-9:]}", **capacity
    )
    server = started(**QUICK, **OFTEN, channel_layers=layers)
    with (
        live.client(server, place.id, key=place.key()) as reader,
        override_settings(CHANNEL_LAYERS=layers),
    ):
        reader.live()
        if backend == live.CORE:
            assert asyncio.run(dropped(40)) > 0  # the control: messages really are dropped
        place.say(*[str(number) for number in range(400)])
        assert reader.events(up_to=400, seconds=60) == list(range(1, 401))


async def dropped(count: int) -> int:
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add("control", channel)
    for number in range(count):
        await layer.group_send("control", {"type": "control", "number": number})
    received = 0
    try:
        while True:
            async with asyncio.timeout(0.3):
                await layer.receive(channel)
            received += 1
    except TimeoutError:
        await layer.flush()
        await layer.close_pools()
        return count - received


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    with RedisServer.running() as redis:
        yield redis


@with_redis
@pytest.mark.parametrize("backend", [live.CORE, live.PUBSUB])
def test_redis_forgets_everything_and_is_away_for_a_while(
    place: Place, own_redis: RedisServer, tmp_path: Path, backend: str
) -> None:
    layers = live.layers(backend, own_redis.url, prefix="away")
    with (
        override_settings(CHANNEL_LAYERS=layers),
        live.serving(tmp_path, **QUICK, **OFTEN, channel_layers=layers) as server,
        live.client(server, place.id, key=place.key()) as reader,
    ):
        reader.live()
        seen = []

        def written(count: int) -> None:
            head = place.say(*["x"] * count)
            seen.extend(reader.events(up_to=head, seconds=30))

        written(5)
        own_redis.flush()  # groups are gone
        written(5)
        own_redis.stop()
        began = time.monotonic()
        written(20)  # by the poll; and no commit waits for Redis
        with live.client(server, place.id, key=place.key()) as late:
            late.live()
        assert time.monotonic() - began < 25
        own_redis.start()
        written(5)
        publish.publisher()._paused_until = 0.0  # the breaker need not be waited for
        written(5)
        assert seen == list(range(1, 41))


@with_redis
def test_after_redis_returned_pushes_work_again(
    place: Place, own_redis: RedisServer, tmp_path: Path
) -> None:
    """That it is not the poll which delivers: it is slow enough to tell the two apart."""
    layers = live.layers(live.CORE, own_redis.url, prefix="back")
    with (
        override_settings(CHANNEL_LAYERS=layers),
        live.serving(tmp_path, **QUICK, FOLLOW_POLL_SECONDS=4.0, channel_layers=layers) as server,
        live.client(server, place.id, key=place.key()) as reader,
    ):
        reader.live()
        own_redis.stop()
        place.say("while it is away")
        assert reader.events(up_to=1) == [1]
        own_redis.start()
        time.sleep(6.0)  # it is joined again with the next poll
        publish.publisher()._paused_until = 0.0
        waits = []
        for seq in range(2, 8):
            place.say("x")
            began = time.monotonic()
            reader.events(up_to=seq)
            waits.append(time.monotonic() - began)
        assert sorted(waits)[2] < 3.0  # by the poll it is four seconds each time
