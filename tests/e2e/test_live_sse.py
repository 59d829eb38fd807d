"""Server-sent events: the same log, the same rights, resumed with `Last-Event-ID`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from artifacts import clock
from artifacts.models import ApiKey
from tests.e2e.conftest import QUICK, Place, session_of
from tests.support import live
from tests.support.sites import wait_until


@dataclass
class Stream:
    """An event stream as a browser reads it."""

    response: httpx.Response
    lines: Iterator[str]
    seqs: list[int] = field(default_factory=list)

    def next(self) -> dict[str, Any]:
        """The next message: its fields, with data parsed."""
        message: dict[str, Any] = {}
        for line in self.lines:
            if not line:
                if "data" in message:
                    message["data"] = json.loads(message["data"])
                    return message
                message = {}
                continue
            name, _, value = line.partition(":")
            message[name] = value.strip()
        raise EOFError

    def events(self, *, up_to: int) -> list[int]:
        found: list[int] = []
        while not found or found[-1] < up_to:
            message = self.next()
            if "event" not in message:
                assert int(message["id"]) == message["data"]["seq"]
                found.append(message["data"]["seq"])
        return found


def url(server: live.Server, workspace_id: str, query: str = "") -> str:
    return f"{server.url}/api/v1/workspaces/{workspace_id}/events/stream{query}"


@contextmanager
def stream(
    server: live.Server, place: Place, query: str = "", *, key: str | None = None, **headers: str
) -> Iterator[Stream]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if key:
        given["Authorization"] = f"Bearer {key}"
    with httpx.stream("GET", url(server, place.id, query), headers=given, timeout=60) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["Content-Type"] == "text/event-stream"
        yield Stream(response, response.iter_lines())


def test_replay_live_and_resume(place: Place, server: live.Server) -> None:
    place.say(*"abc")
    key = place.key()
    with stream(server, place, key=key) as first:
        assert first.events(up_to=3) == [1, 2, 3]
        assert first.next() == {"event": "replay_complete", "data": {"up_to_seq": 3}}
        place.say("d")
        message = first.next()
        assert message["data"] == json.loads(place.workspace.read_text(last=1)[0])
    place.say("e")
    with stream(server, place, key=key, Last_Event_ID="4") as again:
        assert again.events(up_to=5) == [5]
    with stream(server, place, "?after_seq=2", key=key) as third:
        assert third.events(up_to=5) == [3, 4, 5]
    with stream(server, place, "?after_seq=99", key=key) as future:
        assert future.next()["event"] == "reset"
        assert future.events(up_to=5) == [1, 2, 3, 4, 5]


def test_threads_are_filtered_and_what_is_hidden_stays_so(
    place: Place, server: live.Server, strict_server: live.Server
) -> None:
    mine = place.open_thread("mine")
    place.open_thread("secret")
    with stream(server, place, f"?thread_id={mine}", key=place.key()) as one:
        assert one.next()["data"]["seq"] == 1
        assert one.next()["event"] == "replay_complete"
    with stream(strict_server, place, key=place.key(name="hidden_from")) as barred:
        assert barred.events(up_to=1) == [1]
        assert barred.next() == {"event": "replay_complete", "data": {"up_to_seq": 2}}


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ("", {}, 401, "unauthorized"),
        ("?other=1", {}, 401, "unauthorized"),
        ("?after_seq=x", {"key": True}, 422, "validation_failed"),
        ("?after_seq=-1", {"key": True}, 422, "validation_failed"),
        ("?other=1", {"key": True}, 422, "validation_failed"),
        ("", {"key": True, "Last-Event-ID": "text"}, 422, "validation_failed"),
        ("?" + "&".join(f"thread_id=t{n}" for n in range(201)), {"key": True}, 422,
         "validation_failed"),
    ],
)  # fmt: skip
def test_refusals_are_problems(
    place: Place,
    server: live.Server,
    query: str,
    headers: dict[str, Any],
    status: int,
    code: str,
) -> None:
    if headers.pop("key", False):
        headers["Authorization"] = f"Bearer {place.key()}"
    response = httpx.get(url(server, place.id, query), headers=headers)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["Content-Type"] == "application/problem+json"


def test_an_unknown_workspace_is_not_found(place: Place, server: live.Server) -> None:
    headers = {"Authorization": f"Bearer {place.key()}"}
    assert httpx.get(url(server, "wsp_unknown"), headers=headers).status_code == 404


def test_a_person_reads_it_by_session_until_they_sign_out(
    place: Place, server: live.Server
) -> None:
    _, browser = place.person("vera", "viewer")
    place.say("a")
    with stream(server, place, Cookie=f"sessionid={session_of(browser)}") as opened:
        assert opened.events(up_to=1) == [1]
        browser.logout()
        assert opened.next()["event"] == "replay_complete"
        with pytest.raises(EOFError):
            opened.next()


def test_a_key_that_is_revoked_ends_the_stream(place: Place, server: live.Server) -> None:
    row, key = place.named_key()
    with stream(server, place, key=key) as opened:
        assert opened.next()["event"] == "replay_complete"
        ApiKey.objects.filter(pk=row.pk).update(revoked_at=clock.now())
        with pytest.raises(EOFError):
            opened.next()


def test_a_client_that_leaves_is_forgotten(place: Place, strict_server: live.Server) -> None:
    key = place.key()

    def opens() -> bool:
        try:
            with stream(strict_server, place, key=key) as opened:
                opened.next()
        except AssertionError:  # refused, as the one before is not forgotten yet
            return False
        return True

    for _ in range(5):  # only two may be open
        wait_until(opens)


def test_a_slow_reader_is_ended_not_fed(place: Place, started: Any) -> None:
    server = started(**QUICK, OUTBOX_FRAMES=100, OUTBOX_BYTES=1_000_000)
    key = place.key()
    made = live.narrow(server)
    request = f"GET {url(server, place.id).removeprefix(server.url)} HTTP/1.1\r\n"
    made.sendall(
        f"{request}Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    )
    made.settimeout(20)
    received = b""
    while b"replay_complete" not in received:
        received += made.recv(4_096)
    place.say(*["x" * 50_000] * 400)  # 20 MB
    time.sleep(4)
    while chunk := made.recv(1 << 20):
        received += chunk
        if received.endswith(b"0\r\n\r\n"):  # the end of a chunked response
            break
    made.close()
    ids = [int(line[4:]) for line in received.split(b"\n") if line.startswith(b"id: ")]
    assert ids == list(range(1, len(ids) + 1))
    assert len(ids) < 400
    with stream(server, place, key=key, Last_Event_ID=str(ids[-1])) as again:
        assert ids + again.events(up_to=400) == list(range(1, 401))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_it_is_read_only(place: Place, server: live.Server, method: str) -> None:
    headers = {"Authorization": f"Bearer {place.key()}"}
    refused = httpx.request(method, url(server, place.id, "?other=1"), headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (405, "method_not_allowed")
    assert refused.headers["Allow"] == "GET"
    assert httpx.request(method, url(server, place.id, "?other=1")).status_code == 401
    assert httpx.request(method, url(server, "wsp_unknown"), headers=headers).status_code == 404
