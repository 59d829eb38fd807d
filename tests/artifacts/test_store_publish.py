"""After COMMIT: other processes are told through the channel layer, or not, and nobody waits."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from channels.exceptions import InvalidChannelLayerError

from artifacts import extensions
from artifacts.core import AppEvent
from artifacts.store import publish
from artifacts.workspace import group_name
from tests.support.cast import Cast
from tests.support.verify import log_of


class Layer:
    """A channel layer that does as it is told."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.fails = self.hangs = False
        self.tried = 0

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.tried += 1
        if self.fails:
            raise ConnectionError("no layer")
        if self.hangs:
            await asyncio.sleep(60)
        self.sent.append((group, message))


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    made = Layer()
    monkeypatch.setattr(publish, "get_channel_layer", lambda: made)
    monkeypatch.setattr(publish, "_publisher", None)
    return made


def test_what_was_committed_is_sent_in_order_with_its_texts(cast: Cast, layer: Layer) -> None:
    for number in range(20):
        cast.system.record(AppEvent(name=f"n{number}"))
    publish.publisher().drain()
    assert {group for group, _ in layer.sent} == {group_name(cast.system.pk)}
    ranges = [(message["first_seq"], message["last_seq"]) for _, message in layer.sent]
    assert ranges == [(seq, seq) for seq in range(1, 21)]
    texts = [event[-1] for _, message in layer.sent for event in message["events"]]
    assert texts == cast.system.read_text()


def test_a_layer_that_cannot_even_be_made_fails_no_commit(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Any:
        raise InvalidChannelLayerError

    monkeypatch.setattr(publish, "get_channel_layer", broken)
    reacted: list[int] = []
    with extensions.isolated():
        extensions.register_reaction(lambda committed: reacted.append(committed.last_seq))
        assert cast.system.record(AppEvent(name="durable")).seq == 1
    assert reacted == [1]
    assert "failed after seq 1" in caplog.text


def test_a_large_range_goes_without_its_texts(
    cast: Cast, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "MOST_BYTES", 10)
    cast.system.record(AppEvent(name="large"))
    publish.publisher().drain()
    assert layer.sent[0][1]["events"] == []
    assert layer.sent[0][1]["last_seq"] == 1


def test_a_layer_that_fails_fails_no_commit_and_is_left_alone_for_a_while(
    cast: Cast, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer.fails = True
    for number in range(publish.FAILURES + 5):
        assert cast.system.record(AppEvent(name="x")).seq == number + 1
    publish.publisher().drain()
    assert layer.tried == publish.FAILURES
    layer.fails = False
    monkeypatch.setattr(publish.publisher(), "_paused_until", time.monotonic())
    cast.system.record(AppEvent(name="again"))
    publish.publisher().drain()
    assert [message["last_seq"] for _, message in layer.sent] == [len(log_of(cast.system))]


def test_a_layer_that_hangs_is_given_up(
    cast: Cast, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "SEND_SECONDS", 0.05)
    layer.hangs = True
    cast.system.record(AppEvent(name="x"))
    publish.publisher().drain()
    assert (layer.tried, layer.sent) == (1, [])


def test_a_publisher_that_is_behind_drops_what_followers_will_find_by_themselves(
    cast: Cast, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "QUEUED", 1)
    monkeypatch.setattr(publish, "SEND_SECONDS", 0.3)
    layer.hangs = True
    for _ in range(5):
        cast.system.record(AppEvent(name="x"))
    publish.publisher().drain()
    assert layer.tried < 5
    assert len(log_of(cast.system)) == 5


def test_nothing_is_published_of_what_was_rolled_back(cast: Cast, layer: Layer) -> None:
    def fail() -> None:
        with cast.system.transaction() as tx:
            tx.record(AppEvent(name="x"))
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    cast.system.record(AppEvent(name="y"))
    publish.publisher().drain()
    assert len(layer.sent) == 1
