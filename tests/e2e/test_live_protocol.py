"""The published protocol on a real socket: hello, welcome, replay, live, commands."""

from __future__ import annotations

from tests.e2e.conftest import Place
from tests.support import live


def test_hello_welcome_replay_live(place: Place, server: live.Server) -> None:
    head = place.say("one", "two", "three")
    with live.client(server, place.id, key=place.key()) as client:
        welcome = client.hello()
        assert welcome["head_seq"] == head
        replay = client.events_until_live()
        assert [frame["seq"] for frame in replay] == [1, 2, 3]
        place.say("four")
        assert client.next("event")["seq"] == 4
