"""Spans of a served site: requests, connections and the commands inside them, printed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import QUICK, Place, session_of
from tests.e2e.test_live_sse import stream, url
from tests.support import live

pytestmark = pytest.mark.once  # what differs between the databases is not the surface's

CANARY = "canary 4711"
CONSOLE = {"OTEL_TRACES_EXPORTER": "console", "OTEL_BSP_SCHEDULE_DELAY": "100"}
SECONDS = 60.0


@pytest.fixture
def traced(place: Place, tmp_path: Path) -> Iterator[live.Server]:
    """A site whose traces are turned on by the standard variables alone."""
    with live.serving(tmp_path, **QUICK, variables=CONSOLE) as server:
        yield server


def printed(log: str) -> list[dict[str, Any]]:
    """The spans in what the server printed."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while (at := log.find("{\n", at)) >= 0:
        try:
            span, at = decoder.raw_decode(log, at)
        except ValueError:  # not written to its end
            break
        found.append(span)
    return found


def spans(server: live.Server, name: str, count: int = 1) -> list[dict[str, Any]]:
    """The spans of this name, once there are so many."""
    until = time.monotonic() + SECONDS
    while True:
        found = [span for span in printed(server.log.read_text()) if span["name"] == name]
        if len(found) >= count:
            assert len(found) == count
            return found
        assert time.monotonic() < until, f"{len(found)} of {count} spans {name!r} were printed"
        time.sleep(0.05)


def ids(span: dict[str, Any]) -> tuple[str, str]:
    return span["context"]["trace_id"], span["context"]["span_id"]


def parent(span: dict[str, Any]) -> tuple[str, str]:
    return span["context"]["trace_id"], span["parent_id"]


def test_a_socket_and_its_commands(place: Place, traced: live.Server) -> None:
    user, browser = place.person("vera", "editor")
    with live.client(traced, place.id, session=session_of(browser), origin=traced.url) as client:
        client.live()
        client.result("c1", {"type": "create_thread", "thread_id": "thr_1", "title": CANARY})
        client.send({"type": "command"})  # what is refused is in no span either
        client.next("error")
        [command] = spans(traced, "artifactr.command")
    [connection] = spans(traced, "artifactr.connection")
    assert parent(command) == ids(connection)
    who = {
        "artifactr.tenant.id": place.workspace.tenant_id,
        "artifactr.workspace.id": place.id,
        "artifactr.actor.kind": "user",
        "user.id": str(user.pk),
    }
    assert connection["attributes"] == {**who, "artifactr.connection.kind": "websocket"}
    thread = ("artifactr.thread.id", "session.id", "gen_ai.conversation.id")
    assert command["attributes"] == {
        **who,
        **dict.fromkeys(thread, "thr_1"),
        "artifactr.command.type": "create_thread",
    }
    [envelope] = place.workspace.read()
    trace_id, span_id = (each.removeprefix("0x") for each in ids(command))
    assert (envelope.traceparent or "").startswith(f"00-{trace_id}-{span_id}-")
    assert CANARY not in traced.log.read_text()


def test_a_connection_that_is_closed_says_why(place: Place, traced: live.Server) -> None:
    with live.client(traced, place.id, key=place.key()) as client:
        client.send({"type": "hello", "protocol": "other"})
        assert client.close_code() == 4400
    [connection] = spans(traced, "artifactr.connection")
    assert connection["attributes"]["artifactr.connection.close_code"] == 4400


def test_an_event_stream_and_a_request(place: Place, traced: live.Server) -> None:
    key = place.key()
    with stream(traced, place, key=key) as opened:
        assert opened.next()["event"] == "replay_complete"
    [connection] = spans(traced, "artifactr.connection")
    assert connection["attributes"]["artifactr.connection.kind"] == "sse"
    sent = httpx.post(
        url(traced, place.id).replace("events/stream", "threads/"),
        json={"title": CANARY},
        headers={"Authorization": f"Bearer {key}"},
        timeout=SECONDS,
    )
    assert sent.status_code == 201
    [command] = spans(traced, "artifactr.command")
    [request] = spans(traced, "POST api/v1/workspaces/<str:workspace_id>/threads/")
    assert parent(command) == ids(request)
    assert CANARY not in traced.log.read_text()


def test_an_idle_site_prints_no_span(place: Place, traced: live.Server) -> None:
    with live.client(traced, place.id, key=place.key()) as client:
        client.live()
        place.say("a")  # elsewhere, so that the site meets it by polling
        assert client.events(up_to=1) == [1]
        time.sleep(1.0)
        assert printed(traced.log.read_text()) == []


def test_without_a_variable_nothing_is_printed(
    place: Place, server: live.Server, started: Callable[..., live.Server]
) -> None:
    with live.client(server, place.id, key=place.key()) as client:
        client.live()
        client.result("c1", {"type": "create_thread", "title": "t"})
    assert place.workspace.read()[0].traceparent is None
    assert printed(server.log.read_text()) == []
