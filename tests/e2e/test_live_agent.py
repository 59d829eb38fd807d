"""An agent's turn as people watch it: the model's stream on the wire while the turn goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import QUICK, Place
from tests.support import live
from threads import selectors

PATIENCE = 60.0

TOOL = [
    {"type": "part_started", "part": 0, "part_kind": "tool_call", "tool_name": "draw"},
    {"type": "tool_args_delta", "part": 0, "delta": '{"upto":2}'},
    {"type": "part_ended", "part": 0},
    {"type": "app_live", "name": "e2e.progress", "data": {"done": 1}},
    {"type": "draft", "kind": "paper", "data": {"text": "x"}},
    {"type": "app_live", "name": "e2e.progress", "data": {"done": 2}},
    {"type": "draft", "kind": "paper", "data": {"text": "xx"}},
]
TEXT_STARTED = {"type": "part_started", "part": 1, "part_kind": "text"}


@pytest.fixture(scope="module")
def running(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[live.Server]:
    agents = {"default": "tests.e2e.streaming.agent"}
    folder = tmp_path_factory.mktemp("agents")
    with live.serving(folder, **QUICK, EXECUTOR="threads", AGENTS=agents) as server:
        yield server


@pytest.fixture
def agent_server(place: Place, running: live.Server) -> live.Server:
    """A server that runs turns."""
    return running


def ask(client: live.Client, thread_id: str) -> None:
    """Ask for a turn that waits for a file of the thread's name."""
    message = {"type": "post_message", "thread_id": thread_id, "content": thread_id}
    assert client.result("ask", message)["ok"]


def go_on(server: live.Server, thread_id: str) -> None:
    Path(server.log.parent, thread_id).touch()


def watched(client: live.Client, *, until: str) -> list[dict[str, Any]]:
    """The live events so far, read on until the text ends so; deltas of a part as one."""
    while True:
        frames = joined([each["event"] for each in client.frames if each["type"] == "live"])
        if any(each.get("delta", "").endswith(until) for each in frames):
            return frames
        client.next("live", seconds=PATIENCE)


def joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How deltas are cut is the pace's business."""
    found: list[dict[str, Any]] = []
    for each in events:
        last = found[-1] if found else {}
        if "delta" in each and (each["type"], each["part"]) == (last.get("type"), last.get("part")):
            last["delta"] += each["delta"]
        else:
            found.append(dict(each))
    return found


def text(delta: str) -> dict[str, Any]:
    return {"type": "text_delta", "part": 1, "delta": delta}


def test_the_stream_is_watched_while_it_goes_on_late_comers_included(
    place: Place, agent_server: live.Server
) -> None:
    thread_id = place.open_thread()
    with live.client(agent_server, place.id, key=place.key()) as first:
        first.live()
        ask(first, thread_id)
        begun = [*TOOL, TEXT_STARTED, text("One two ")]
        assert watched(first, until="two ") == begun
        with live.client(agent_server, place.id, key=place.key()) as late:
            late.live()
            assert watched(late, until="two ") == begun
            go_on(agent_server, thread_id)
            whole = [*TOOL, TEXT_STARTED, text("One two three.")]
            assert watched(late, until="three.") == whole
        assert watched(first, until="three.") == whole
        assert first.next("live", seconds=PATIENCE)["event"] == {"type": "part_ended", "part": 1}
        while first.types()[-1] != "run_ended":
            first.next("event", seconds=PATIENCE)
    log = place.workspace.read()
    assert [each.event.type for each in log] == [
        "thread_created",
        "message_posted",
        "run_started",
        "tool_called",
        "tool_returned",
        "message_posted",
        "run_ended",
    ]
    written = "".join(place.workspace.read_text())
    assert "e2e.progress" not in written
    assert "xx" not in written


def test_a_turn_does_not_mind_that_whoever_asked_for_it_leaves(
    place: Place, agent_server: live.Server
) -> None:
    thread_id = place.open_thread()
    with live.client(agent_server, place.id, key=place.key()) as asking:
        asking.live()
        ask(asking, thread_id)
        watched(asking, until="two ")
    go_on(agent_server, thread_id)
    with live.client(agent_server, place.id, key=place.key()) as after:
        after.hello()
        while "run_ended" not in after.types():
            after.next("event", seconds=PATIENCE)
    (run,) = selectors.runs(place.workspace, thread_id=thread_id)
    assert run.status == "completed"
