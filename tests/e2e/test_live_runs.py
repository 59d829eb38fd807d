"""Live frames on the wire: watched by themselves or on request, late watchers, order, loss told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import httpx

from artifacts import core
from tests.e2e.conftest import QUICK, Place, is_postgresql, session_of, with_redis
from tests.support import live
from threads.models import Run
from threads.surfaces.outbox import LOST


def delta(text: str, part: int = 0) -> dict[str, Any]:
    return {"type": "text_delta", "part": part, "delta": text}


def produce(
    server: live.Server, place: Place, run_id: str, *events: dict[str, Any], close: bool = False
) -> None:
    """Let the server produce, as a worker of its own would."""
    url = f"{server.url}/produce/{place.id}/{run_id}{'?close=1' if close else ''}"
    assert httpx.post(url, content=json.dumps(events), timeout=20).status_code == 204


def said(client: live.Client, run_id: str, *, until: str, seconds: float = 20.0) -> str:
    """The text of a run's deltas, read on until it ends so; loss is told as `[n]`."""
    text = ""
    deadline = time.monotonic() + seconds
    while not text.endswith(until):
        frame = client.next("live", seconds=deadline - time.monotonic())
        assert frame["run_id"] == run_id
        event = frame["event"]
        if event["type"] == "app_live" and event["name"] == LOST:
            text += f"[{event['data']['frames']}]"
        elif event["type"] == "text_delta":
            text += event["delta"]
    return text


def test_a_run_of_a_followed_thread_is_watched_from_its_start_to_its_end(
    place: Place, server: live.Server
) -> None:
    mine, other = place.open_thread("mine"), place.open_thread("other")
    with live.client(server, place.id, key=place.key()) as client:
        client.live(threads=[mine])
        unseen, run_id = place.start_run(other), place.start_run(mine)
        assert client.next("event")["event"]["run_id"] == run_id
        produce(server, place, unseen, delta("not for this one"))
        produce(server, place, run_id, {"type": "part_started", "part": 0, "part_kind": "text"})
        assert client.next("live")["event"]["type"] == "part_started"
        for word in ("one ", "two ", "three."):
            produce(server, place, run_id, delta(word))
        assert said(client, run_id, until=".") == "one two three."
        rest: list[dict[str, Any]] = [
            {"type": "part_ended", "part": 0},
            {"type": "thinking_delta", "part": 1, "delta": "hm"},
            {"type": "tool_args_delta", "part": 2, "delta": "{"},
            {"type": "draft", "kind": "plan", "data": {"goal": None}},
            {"type": "app_live", "name": "mine", "data": [1]},
        ]
        produce(server, place, run_id, *rest, close=True)
        place.end_run(mine, run_id)
        assert [client.next("live")["event"] for _ in rest] == rest
        if client.types()[-1] != "run_ended":  # the log and the frames come by different ways
            assert client.next("event")["event"]["type"] == "run_ended"
        # Nothing of it is in the log.
        assert all("delta" not in text for text in place.workspace.read_text())


def test_who_comes_late_gets_what_was_kept_and_then_the_rest(
    place: Place, server: live.Server
) -> None:
    thread_id = place.open_thread()
    run_id = place.start_run(thread_id)
    produce(server, place, run_id, delta("early "))
    with live.client(server, place.id, key=place.key()) as first:
        first.live()
        assert said(first, run_id, until="early ") == "early "
        produce(server, place, run_id, delta("middle "))
        with live.client(server, place.id, key=place.key()) as late:
            assert late.hello()["active_runs"] == [{"run_id": run_id, "thread_id": thread_id}]
            assert said(late, run_id, until="middle ") == "early middle "
            produce(server, place, run_id, delta("late."), close=True)
            assert said(late, run_id, until=".") == "late."
        assert said(first, run_id, until=".") == "middle late."
    # After its end they are kept for a while, for whoever asks.
    place.end_run(thread_id, run_id)
    with live.client(server, place.id, key=place.key()) as after:
        assert after.hello()["active_runs"] == []
        after.events_until_live()
        answer = after.result("w1", {"type": "watch_run", "run_id": run_id})
        assert answer["outcome"] == {"type": "recorded", "run_id": run_id}
        assert said(after, run_id, until=".") == "early middle late."


def test_after_a_reconnect_the_run_is_watched_again_beside_the_replay(
    place: Place, server: live.Server
) -> None:
    thread_id = place.open_thread()
    with live.client(server, place.id, key=place.key()) as client:
        client.live()
        run_id = place.start_run(thread_id)
        seen = client.next("event")["seq"]
        produce(server, place, run_id, delta("before "))
        assert said(client, run_id, until="before ") == "before "
    place.say("meanwhile")
    with live.client(server, place.id, key=place.key()) as again:
        again.hello(resume_after_seq=seen)
        assert [frame["seq"] for frame in again.events_until_live()] == [seen + 1]
        produce(server, place, run_id, delta("after."), close=True)
        assert said(again, run_id, until=".") == "before after."


def test_other_runs_are_watched_on_request(place: Place, server: live.Server) -> None:
    thread_id = place.open_thread()
    run_id = place.start_run(thread_id)
    produce(server, place, run_id, delta("hello."))
    with live.client(server, place.id, key=place.key()) as client:
        client.live(threads=[])
        assert client.is_silent()
        assert client.result("w1", {"type": "watch_run", "run_id": run_id})["ok"] is True
        assert said(client, run_id, until=".") == "hello."
        # Twice is not twice as much.
        assert client.result("w2", {"type": "watch_run", "run_id": run_id})["ok"] is True
        assert client.is_silent()
        unknown = client.result("w3", {"type": "watch_run", "run_id": "run_unknown"})
        assert unknown["rejection"]["type"] == "not_found"


def test_a_buffer_that_is_full_loses_the_oldest_and_says_so_with_one_frame(
    place: Place, started: Callable[..., live.Server]
) -> None:
    server = started(**QUICK, LIVE_FRAMES=10)
    thread_id = place.open_thread()
    run_id = place.start_run(thread_id)
    for number in range(0, 40, 4):  # parts differ, so that none is joined to the one before
        parts = range(number, number + 4)
        produce(server, place, run_id, *[delta(f"{part} ", part=part) for part in parts])
    produce(server, place, run_id, delta(".", part=99), close=True)
    with live.client(server, place.id, key=place.key()) as client:
        client.live()
        heard = said(client, run_id, until=".")
    assert heard == "[31]" + "".join(f"{number} " for number in range(31, 40)) + "."


def test_a_watcher_that_is_behind_loses_frames_but_neither_its_socket_nor_events(
    place: Place, started: Callable[..., live.Server]
) -> None:
    server = started(**QUICK, LIVE_FRAMES=10)
    thread_id = place.open_thread()
    run_id = place.start_run(thread_id)
    with (
        live.client(
            server, place.id, key=place.key(), sock=live.narrow(server), max_queue=2
        ) as slow,
        live.client(server, place.id, key=place.key()) as quick,
    ):
        slow.live()
        quick.live()
        count = 200
        for number in range(0, count, 5):
            parts = range(number, number + 5)
            produce(server, place, run_id, *[delta("x" * 40_000, part=part) for part in parts])
        place.say("durable")
        produce(server, place, run_id, delta(".", part=count), close=True)
        assert said(quick, run_id, until=".") == "x" * 40_000 * count + "."
        said(slow, run_id, until=".")
        heard = [frame["event"] for frame in slow.frames if frame["type"] == "live"]
        assert any(event["type"] == "app_live" for event in heard)
        next_part = 0  # each hole is told with one frame, that says how large it is
        for before, event in pairwise([None, *heard]):
            if event["type"] == "app_live":
                assert before is None or before["type"] == "text_delta"
                next_part += event["data"]["frames"]
            else:
                assert event["part"] == next_part
                next_part += 1
        assert next_part == count + 1
        if "app_event" not in slow.types():
            slow.next("event")
        assert slow.types() == ["thread_created", "run_started", "app_event"]


@with_redis
def test_a_watcher_at_another_server_gets_the_same(
    place: Place, server: live.Server, started: Callable[..., live.Server]
) -> None:
    assert is_postgresql()
    other = started(**QUICK, COMMANDS_AT_ONCE=3)
    thread_id = place.open_thread()
    key = place.key()
    with (
        live.client(server, place.id, key=key) as here,
        live.client(other, place.id, key=key) as there,
    ):
        here.live()
        there.live()
        run_id = place.start_run(thread_id)
        for number in range(30):
            produce(server, place, run_id, delta(f"{number} "))
        produce(server, place, run_id, delta("."), close=True)
        expected = "".join(f"{number} " for number in range(30)) + "."
        assert said(here, run_id, until=".") == expected
        assert said(there, run_id, until=".") == expected
    with live.client(other, place.id, key=key) as late:
        late.live()
        assert said(late, run_id, until=".") == expected


def test_stop_run_marks_a_run_of_ones_own_and_others_need_a_reviewer(
    place: Place, server: live.Server
) -> None:
    ben, browser = place.person("ben", "editor")
    thread_id, elsewhere = place.open_thread(), place.open_thread()
    own = place.start_run(thread_id, person=core.UserActor(id=str(ben.pk)))
    foreign = place.start_run(elsewhere, person=core.UserActor(id="999"))

    def marked(run_id: str) -> bool:
        return Run.objects.get(public_id=run_id).stop_requested_at is not None

    with (
        live.client(server, place.id, session=session_of(browser), origin=server.url) as client,
        live.client(server, place.id, key=place.key("reviewer")) as reviewer,
    ):
        client.live()
        reviewer.live()
        answer = client.result("s1", {"type": "stop_run", "run_id": own})
        assert answer.get("outcome") == {"type": "recorded", "run_id": own}, answer
        assert marked(own)
        refused = client.result("s2", {"type": "stop_run", "run_id": foreign})
        assert refused["rejection"]["type"] == "forbidden"
        assert not marked(foreign)
        assert reviewer.result("s3", {"type": "stop_run", "run_id": foreign})["ok"] is True
        person = core.UserActor(id=str(ben.pk))
        ended = place.start_run(other := place.open_thread(), person=person)
        place.end_run(other, ended)
        for number, run_id in enumerate((ended, "run_unknown")):
            gone = client.result(f"s{4 + number}", {"type": "stop_run", "run_id": run_id})
            assert gone["rejection"]["type"] == "not_found"
