"""The browser's client of the live protocol, in a real Chromium against a real daphne: it misses
nothing and repeats nothing whatever becomes of the server, and it knows when to stop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute

from artifacts.models import Event
from tests.e2e.conftest import QUICK, Place, session_of
from tests.support import browser, live
from tests.support.browser import elsewhere, until

pytestmark = pytest.mark.browser

# What the page does; `log` is the client, the rest is what it was told.
START = """async (options) => {
  const module = await import("/static/threads/artifactr.js");
  Object.assign(window, { seqs: [], states: [], results: {}, failures: {} });
  window.log = module.connect(options);
  log.on("*", (event, envelope) => seqs.push(envelope.seq));
  log.onState((state, reason) => states.push([state, reason]));
  window.ask = (id, command, how) => void log.command(command, { commandId: id, ...how }).then(
    (outcome) => (results[id] = outcome),
    (error) => (failures[id] = [error.name, error.code, error.message]),
  );
}"""
SOCKETS = "**/ws/v1/workspaces/**"


@contextmanager
def signed_in(server: live.Server, session: str | None = None) -> Iterator[Page]:
    """A page of the site, with a person's cookie; its own mistakes fail the test."""
    with browser.page() as (page, complaints):
        if session:
            page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.goto(f"{server.url}/healthz")
        yield page
        # The browser itself says so when a server is away.
        assert [each for each in complaints if "WebSocket" not in each] == []


def start(page: Page, **options: Any) -> None:
    page.evaluate(START, options)


def is_live(page: Page) -> None:
    until(page, "log.state === 'live'")


def has_seen(page: Page, up_to: int) -> list[int]:
    """Every seq the page was told, once it has been told this one."""
    until(page, "seq => log.lastSeq >= seq", up_to)
    seqs: list[int] = page.evaluate("seqs")
    return seqs


def threads_opened(place: Place) -> int:
    rows = Event.objects.filter(workspace=place.row, type="thread_created")
    return elsewhere(rows.count)


def test_it_connects_and_hears_what_is_there_and_what_comes(
    place: Place, server: live.Server
) -> None:
    place.say(*"abc")
    session = session_of(place.person("ana")[1])
    with signed_in(server, session) as page:
        start(page, workspaceId=place.id)
        is_live(page)
        assert page.evaluate("seqs") == [1, 2, 3]
        page.evaluate("void log.on('app_event', event => (window.told = event.data.text))")
        elsewhere(lambda: place.say("d"))
        assert has_seen(page, 4) == [1, 2, 3, 4]
        assert page.evaluate("told") == "d"
        page.evaluate("ask('c1', {type: 'create_thread', title: 'A chat'})")
        page.evaluate("ask('c2', {type: 'set_focus', thread_id: 'thr_none', artifact_ids: []})")
        until(page, "results.c1 && failures.c2")
        assert page.evaluate("results.c1") == {"type": "recorded", "seq": 5}
        assert page.evaluate("failures.c2[1]") == "not_found"
        states = page.evaluate("states.map(each => each[0])")
    assert states == ["connecting", "live"]


def test_a_key_opens_it_and_a_start_at_the_head_skips_the_past(
    place: Place, server: live.Server
) -> None:
    place.say(*"abc")
    key = place.key()
    with signed_in(server) as page:
        start(page, workspaceId=place.id, key=key, fromHead=True)
        is_live(page)
        elsewhere(lambda: place.say("d"))
        assert has_seen(page, 4) == [4]


def test_a_server_that_dies_and_comes_back_is_resumed_without_gap_or_repeat(
    place: Place, tmp_path: Path
) -> None:
    place.say(*"abc")
    session = session_of(place.person("ana")[1])
    with ExitStack() as stack:
        server = stack.enter_context(live.serving(tmp_path, **QUICK))
        page = stack.enter_context(signed_in(server, session))
        start(page, workspaceId=place.id)
        is_live(page)
        server.kill()
        until(page, "log.state === 'offline'")
        page.evaluate("ask('c1', {type: 'create_thread', title: 'Meanwhile'})")
        elsewhere(lambda: place.say(*"defg"))
        stack.enter_context(live.serving(tmp_path, port=server.port, **QUICK))
        page.evaluate("dispatchEvent(new Event('online'))")  # or it may sit out a long wait
        until(page, "results.c1")
        head = elsewhere(lambda: place.say("h"))
        assert has_seen(page, head) == list(range(1, head + 1))
        is_live(page)
    assert threads_opened(place) == 1


def test_a_socket_that_breaks_again_and_again_still_brings_everything_once(
    place: Place, server: live.Server
) -> None:
    head = place.say(*("x" * 60))
    session = session_of(place.person("ana")[1])
    broken = 0

    def between(socket: WebSocketRoute) -> None:
        real, left = socket.connect_to_server(), 15

        def to_page(text: str | bytes) -> None:
            nonlocal left, broken
            left -= 1
            if left:
                socket.send(text)
            else:
                broken += 1
                socket.close(code=1011)

        socket.on_message(real.send)
        real.on_message(to_page)

    with signed_in(server, session) as page:
        page.route_web_socket(SOCKETS, between)
        page.reload()
        start(page, workspaceId=place.id)
        assert has_seen(page, head) == list(range(1, head + 1))
    assert broken >= 4


def test_a_command_whose_answer_was_lost_has_its_effect_once(
    place: Place, server: live.Server
) -> None:
    session = session_of(place.person("ana")[1])
    sent: list[str] = []

    def between(socket: WebSocketRoute) -> None:
        real = socket.connect_to_server()

        def to_server(text: str | bytes) -> None:
            sent.extend([json.loads(text)["command_id"]] if "command_id" in str(text) else [])
            real.send(text)

        def to_page(text: str | bytes) -> None:
            if len(sent) == 1 and "command_result" in str(text):
                socket.close(code=1011)
            else:
                socket.send(text)

        socket.on_message(to_server)
        real.on_message(to_page)

    with signed_in(server, session) as page:
        page.route_web_socket(SOCKETS, between)
        page.reload()
        start(page, workspaceId=place.id)
        is_live(page)
        page.evaluate("ask('once', {type: 'create_thread', title: 'Only one'})")
        until(page, "results.once")
        assert sent == ["once", "once"]
        assert page.evaluate("results.once") == {"type": "recorded", "seq": 1}
        assert has_seen(page, 1) == [1]
    assert threads_opened(place) == 1


def test_it_stops_when_the_person_has_signed_out(place: Place, server: live.Server) -> None:
    client = place.person("ana")[1]
    session = session_of(client)
    with signed_in(server, session) as page:
        opened: list[str] = []
        page.on("websocket", lambda socket: opened.append(socket.url))
        start(page, workspaceId=place.id)
        is_live(page)
        elsewhere(client.logout)
        until(page, "log.state === 'closed'")
        assert page.evaluate("log.reason") == "not signed in"
        page.evaluate("ask('late', {type: 'create_thread', title: 'Late'})")
        until(page, "failures.late")
        assert page.evaluate("failures.late[1]") == 4401
        page.wait_for_timeout(800)  # longer than the first wait before coming back
        assert len(opened) == 1


def test_a_place_it_may_not_see_is_left_at_once(place: Place, server: live.Server) -> None:
    session = session_of(place.person("sam", None)[1])
    with signed_in(server, session) as page:
        start(page, workspaceId=place.id)
        until(page, "log.state === 'closed'")
        assert page.evaluate("log.reason") == "there is no such workspace"
