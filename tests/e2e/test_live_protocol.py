"""The published protocol on a real socket: hello, welcome, replay, live, and what is refused."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from artifacts import core
from artifacts.core.protocol import server_frame_adapter
from tests.e2e.conftest import Place, new_place, session_of
from tests.support import live

TITLE = {"type": "create_thread", "thread_id": "thr_1", "title": "A chat"}


def seqs(frames: list[dict[str, Any]]) -> list[int]:
    return [frame["seq"] for frame in frames]


def test_welcome_replay_then_live_and_every_frame_is_one_of_the_protocol(
    place: Place, server: live.Server
) -> None:
    head = place.say("one", "two", "three")
    thread_id = place.open_thread()
    run_id = place.start_run(thread_id)
    with live.client(server, place.id, key=place.key()) as client:
        welcome = client.hello()
        assert welcome == {
            "type": "welcome",
            "protocol": "artifactr.v1",
            "workspace_id": place.id,
            "head_seq": head + 2,
            "reset": False,
            "active_runs": [{"run_id": run_id, "thread_id": thread_id}],
        }
        assert seqs(client.events_until_live()) == list(range(1, head + 3))
        assert client.frames[-1] == {"type": "replay_complete", "up_to_seq": head + 2}
        result = client.result("c1", TITLE)
        assert result["outcome"] == {"type": "recorded", "seq": head + 3}
        if seqs_of(client)[-1] < head + 3:  # the answer may come before its event
            client.events(up_to=head + 3)
        for frame in client.frames:
            server_frame_adapter.validate_python(frame)
    stored = place.workspace.read_text()
    sent = [frame for frame in client.frames if frame["type"] == "event"]
    assert [{**json.loads(text), "type": "event"} for text in stored] == sent


def seqs_of(client: live.Client) -> list[int]:
    return seqs([frame for frame in client.frames if frame["type"] == "event"])


@pytest.mark.parametrize(
    ("resume_after_seq", "reset", "replayed"),
    [
        (5, False, []),  # current
        (4, False, [5]),  # behind
        (0, False, [1, 2, 3, 4, 5]),  # far behind
        (6, True, [1, 2, 3, 4, 5]),  # of the future
        (2**62, True, [1, 2, 3, 4, 5]),
    ],
)
def test_resume(
    place: Place, server: live.Server, resume_after_seq: int, reset: bool, replayed: list[int]
) -> None:
    place.say(*"abcde")
    with live.client(server, place.id, key=place.key()) as client:
        assert client.hello(resume_after_seq=resume_after_seq)["reset"] is reset
        assert seqs(client.events_until_live()) == replayed
        assert client.frames[-1]["up_to_seq"] == 5


def test_a_seq_of_another_workspace_is_of_the_future_or_simply_behind(
    place: Place, server: live.Server
) -> None:
    """A seq says nothing of where it came from; nothing of elsewhere is ever shown."""
    place.say("ours")
    with live.client(server, place.id, key=place.key()) as client:
        assert client.hello(resume_after_seq=40)["reset"] is True
        assert seqs(client.events_until_live()) == [1]


def test_from_head_replays_nothing(place: Place, server: live.Server) -> None:
    place.say(*"abc")
    with live.client(server, place.id, key=place.key()) as client:
        assert client.hello(from_head=True)["head_seq"] == 3
        assert client.events_until_live() == []
        assert client.frames[-1]["up_to_seq"] == 3
        place.say("d")
        assert client.next("event")["seq"] == 4


BAD_HELLOS: list[tuple[Any, str]] = [
    ({"type": "hello"}, "unsupported_protocol"),
    ({"type": "hello", "protocol": "artifactr.v2"}, "unsupported_protocol"),
    ({"type": "hello", "protocol": 1}, "unsupported_protocol"),
    ({"type": "command", "command_id": "c", "command": TITLE}, "type"),
    ({"type": "hello", "protocol": "artifactr.v1", "resume_after_seq": -1}, "resume_after_seq"),
    ({"type": "hello", "protocol": "artifactr.v1", "resume_after_seq": "3"}, "resume_after_seq"),
    ({"type": "hello", "protocol": "artifactr.v1", "resume_after_seq": 1.5}, "resume_after_seq"),
    ({"type": "hello", "protocol": "artifactr.v1", "resume_after_seq": True}, "resume_after_seq"),
    ({"type": "hello", "protocol": "artifactr.v1", "resume_after_seq": 3, "from_head": True},
     "resume_after_seq"),
    ({"type": "hello", "protocol": "artifactr.v1", "threads": "thr_1"}, "threads"),
    ({"type": "hello", "protocol": "artifactr.v1", "threads": ["x"] * 201}, "threads"),
    ({"type": "hello", "protocol": "artifactr.v1", "extra": 1}, "extra"),
    ("[]", "frame"), ("{", "frame"), (b"{}", "frame"),
    ('{"type":"hello","type":"hello"}', "frame"),
]  # fmt: skip


def test_a_bad_first_frame_is_named_and_ends_the_socket(place: Place, server: live.Server) -> None:
    key = place.key()
    for frame, named in BAD_HELLOS:
        with live.client(server, place.id, key=key) as client:
            client.send(frame)
            error = client.receive()
            assert (error["type"], named in error["message"]) == ("error", True), (frame, error)
            assert client.close_code() == 4400


def test_who_does_not_say_hello_is_left(place: Place, strict_server: live.Server) -> None:
    with live.client(strict_server, place.id, key=place.key()) as client:
        assert client.close_code() == 4408


BAD_FRAMES: list[tuple[Any, str]] = [
    ("{", "frame"),
    ("null", "frame"),
    ('{"type":"command","command_id":"\\ud800"}', "frame"),
    ('{"type":"command","command_id":"\\u0000"}', "frame"),
    ('{"a":' * 40 + "1" + "}" * 40, "frame"),
    ('{"a":' * 5000 + "1" + "}" * 5000, "frame"),
    (b'{"type":"command"}', "frame"),
    ({"type": "hello", "protocol": "artifactr.v1"}, "type"),
    ({"type": "command", "command": TITLE}, "command_id"),
    ({"type": "command", "command_id": "", "command": TITLE}, "command_id"),
    ({"type": "command", "command_id": "x" * 129, "command": TITLE}, "command_id"),
    ({"type": "pong"}, "type"),
    ('{"type":"command","command":{"command_id":"inner"},"x":NaN}', "frame"),
    ('{"type":"command","command_id":["c"],"x":NaN}', "frame"),
    ('{"type":"command","x":NaN,"command_id":"c', "frame"),
    ('{"type":"command","x":"command_id\\', "frame"),
]


def test_a_frame_that_is_not_understood_is_named_and_the_socket_stays(
    place: Place, server: live.Server
) -> None:
    with live.client(server, place.id, key=place.key()) as client:
        client.live()
        for frame, named in BAD_FRAMES:
            client.send(frame)
            error = client.receive()
            assert (error["type"], named in error["message"]) == ("error", True), (frame, error)
            assert "x" * 129 not in error["message"]
        assert client.result("c1", TITLE)["ok"] is True


@pytest.mark.parametrize(
    ("command", "place_of_error"),
    [
        ({"type": "no_such_command"}, ["command"]),
        ({"type": "create_thread", "title": 5}, ["command", "create_thread", "title"]),
        (
            {"type": "create_thread", "title": "x", "extra": 1},
            ["command", "create_thread", "extra"],
        ),
        ("create_thread", ["command"]),
    ],
)
def test_a_bad_command_is_answered_under_its_id(
    place: Place, server: live.Server, command: Any, place_of_error: list[str]
) -> None:
    with live.client(server, place.id, key=place.key()) as client:
        client.live()
        result = client.result("c1", command)
        assert result["ok"] is False
        assert result["rejection"]["type"] == "validation_failed"
        assert result["rejection"]["errors"][0]["loc"] == place_of_error
        assert place.workspace.head_seq() == 0


UNREADABLE: dict[str, str] = {
    "NUL": '{"type":"command","command_id":"ID","command":{"title":"a\\u0000"}}',
    "half a character": '{"type":"command","command_id":"ID","command":{"title":"\\ud800"}}',
    "NaN": '{"type":"command","command_id":"ID","x":NaN}',
    "too deep": '{"type":"command","command_id" : "ID","command":'
    + "[" * 9_000
    + "]" * 9_000
    + "}",
    "twice": '{"command_id":"ID","command":{"type":"stop_run","type":"stop_run"}}',
    "cut off": '{"type":"command","command_id":"ID","command":{"title":"…',
    "named last": '{"type":"command","command":{"a":[{}],"b":NaN},"command_id":"ID"}',
    "of another type": '{"type":"commnad","command_id":"ID"}',
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_answered_under_its_id(
    place: Place, server: live.Server, what: str
) -> None:
    """Whoever waits for the answer of a command gets one, whatever is wrong with its frame."""
    with live.client(server, place.id, key=place.key()) as client:
        client.live()
        client.send(UNREADABLE[what].replace("ID", "c1"))
        answer = client.receive()
        assert (answer["type"], answer["command_id"]) == ("command_result", "c1")
        assert answer["ok"] is False
        assert answer["rejection"]["type"] == "validation_failed"
        assert answer["rejection"]["errors"][0]["loc"] in (["frame"], ["type"])
        assert client.result("c1", TITLE)["ok"] is True  # it was no command, so its id is free


def test_a_frame_of_more_than_the_limit_is_refused(
    place: Place, strict_server: live.Server
) -> None:
    with live.client(strict_server, place.id, key=place.key()) as client:
        client.live()
        answer = client.result("c1", {**TITLE, "title": "x" * 5_000})
        assert "body_bytes" in answer["rejection"]["message"]


def test_threads_are_filtered(place: Place, server: live.Server) -> None:
    mine, other = place.open_thread("mine"), place.open_thread("other")
    key = place.key()
    with (
        live.client(server, place.id, key=key) as everything,
        live.client(server, place.id, key=key) as one,
        live.client(server, place.id, key=key) as none,
    ):
        assert seqs(everything.live()) == [1, 2]
        assert seqs(one.live(threads=[mine])) == [1]
        assert seqs(none.live(threads=[])) == []
        writer = place.workspace.as_actor(core.UserActor(id="1"))
        for thread_id in (mine, other):
            writer.commit(core.PostMessage(thread_id=thread_id, content="hi", kind="notice"))
        writer.commit(core.CreateArtifact(kind="paper", data={"text": "x"}, thread_id=other))
        assert everything.events(up_to=5) == [3, 4, 5]
        assert one.events(up_to=5) == [3, 5]
        assert none.events(up_to=5) == [5]


def test_the_subprotocol_is_accepted_when_offered_and_a_key_never_echoed(
    place: Place, server: live.Server
) -> None:
    key = place.key()
    offered = ["artifactr.v1", f"artifactr.key.{key}"]
    with live.client(server, place.id, subprotocols=offered) as client:
        assert client.connection.subprotocol == "artifactr.v1"
        assert client.hello()["workspace_id"] == place.id
    with live.client(server, place.id, key=key, subprotocols=["other.v9"]) as client:
        assert client.connection.subprotocol is None
    with live.client(
        server, place.id, subprotocols=["artifactr.v1", "artifactr.key.ak_x"]
    ) as client:
        assert client.close_code() == 4401


def test_refusals_have_their_codes(place: Place, server: live.Server) -> None:
    elsewhere = new_place("Theirs")
    _, stranger = place.person("sam", None)
    origin = server.url
    with live.client(server, place.id, key="ak_00000000.x") as client:
        assert client.close_code() == 4401
    with live.client(server, place.id, origin=origin) as client:
        assert client.close_code() == 4401
    for workspace_id in ("wsp_unknown", elsewhere.id):
        with live.client(server, workspace_id, key=place.key()) as client:
            assert client.close_code() == 4404
    with live.client(server, place.id, session=session_of(stranger), origin=origin) as client:
        assert client.close_code() == 4404


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "http://127.0.0.1.evil.example", "https://127.0.0.1",
     "http://127.0.0.1:1", "http://localhost"],
)  # fmt: skip
def test_a_foreign_page_cannot_open_a_socket(
    place: Place, server: live.Server, origin: str | None
) -> None:
    _, browser = place.person("ben")
    session = session_of(browser)
    with (
        pytest.raises(InvalidStatus) as refused,
        live.client(server, place.id, session=session, origin=origin),
    ):
        pass
    assert refused.value.response.status_code == 403
    # The control: the same cookie from the site's own page, and a page it trusts.
    for good in (server.url, "https://trusted.example", "https://x.partner.example"):
        with live.client(server, place.id, session=session, origin=good) as client:
            assert client.hello()["head_seq"] == 0


def test_too_many_sockets_of_one_user_are_refused(place: Place, strict_server: live.Server) -> None:
    server = strict_server
    key, other = place.key(), place.key(name="other")
    with (
        live.client(server, place.id, key=key) as first,
        live.client(server, place.id, key=key) as second,
    ):
        first.live()
        second.live()
        with live.client(server, place.id, key=key) as third:
            assert "SOCKETS_PER_USER" in third.receive()["message"]
            assert third.close_code() == 4403
        with live.client(server, place.id, key=other) as another:
            another.live()
    with live.client(server, place.id, key=key) as again:
        again.live()


def test_a_connection_that_is_cut_leaves_nothing_behind(place: Place, server: live.Server) -> None:
    key = place.key()
    for _ in range(25):  # more than one user may have open
        with live.client(server, place.id, key=key) as client:
            client.live()
            raw = client.connection.socket
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.shutdown(socket.SHUT_RDWR)
    place.say("on")
    with live.client(server, place.id, key=key) as client:
        assert seqs(client.live()) == [1]
