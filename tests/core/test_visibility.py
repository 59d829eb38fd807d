"""What an event names, and what is left of it for a reader who may not see all of that."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_core import from_json, to_json

from artifacts.core import Envelope, Hidden, event_adapter, mentions, visible_text
from artifacts.core.visibility import NOTHING_HIDDEN, SEPARATOR, is_touched
from tests.support.conformance import cases


def stored(event: dict[str, Any]) -> tuple[str, str, str]:
    envelope = Envelope.model_validate(
        {
            "seq": 1,
            "id": "evt_1",
            "ts": "2026-01-02T03:04:05Z",
            "workspace_id": "ws",
            "actor": {"kind": "user", "id": "1"},
            "event": event,
        }
    )
    named = SEPARATOR.join(mentions(envelope.event))  # type: ignore[arg-type]
    return to_json(envelope, exclude_none=True).decode(), named, envelope.event.type


FOCUS = {"type": "focus_changed", "thread_id": "thr_1", "artifact_ids": ["art_1", "art_2"]}
CHANGE = {"type": "artifact_archived", "artifact_id": "art_1", "kind": "k", "version": 2}
ON_VERSION = {
    "type": "feedback_given",
    "feedback_type": "fit",
    "value": {},
    "target": {"kind": "artifact", "artifact_id": "art_1", "version": 1},
}
MESSAGE = {"type": "message_posted", "thread_id": "thr_1", "message_id": "m", "content": "art_2"}


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (FOCUS, ("thr_1", "art_1", "art_2")),
        (CHANGE, ("art_1",)),
        ({**CHANGE, "thread_id": "thr_1"}, ("art_1", "thr_1")),
        (ON_VERSION, ("art_1",)),
        (MESSAGE, ("thr_1",)),
        ({"type": "app_event", "name": "x"}, ()),
    ],
)
def test_mentions(event: dict[str, Any], named: tuple[str, ...]) -> None:
    assert mentions(event_adapter.validate_python(event)) == named  # type: ignore[arg-type]


def see(event: dict[str, Any], hidden: Hidden) -> str | None:
    text, named, type = stored(event)
    return visible_text(text, named=named, event_type=type, hidden=hidden)


def test_what_names_nothing_hidden_is_the_very_text() -> None:
    for event in (FOCUS, CHANGE, ON_VERSION, MESSAGE):
        text, named, type = stored(event)
        for hidden in (NOTHING_HIDDEN, Hidden(threads=frozenset({"thr_9"}))):
            assert visible_text(text, named=named, event_type=type, hidden=hidden) is text


def test_an_event_that_names_something_hidden_is_dropped() -> None:
    assert see(CHANGE, Hidden(artifacts=frozenset({"art_1"}))) is None
    assert see(ON_VERSION, Hidden(artifacts=frozenset({"art_1"}))) is None
    assert see(MESSAGE, Hidden(threads=frozenset({"thr_1"}))) is None
    assert see({**CHANGE, "thread_id": "thr_1"}, Hidden(threads=frozenset({"thr_1"}))) is None


def test_a_change_of_focus_loses_what_is_hidden() -> None:
    left = see(FOCUS, Hidden(artifacts=frozenset({"art_2"})))
    assert left is not None
    assert from_json(left)["event"]["artifact_ids"] == ["art_1"]
    assert "art_2" not in left
    assert see(FOCUS, Hidden(threads=frozenset({"thr_1"}))) is None


def test_an_id_that_only_begins_like_a_hidden_one_is_seen() -> None:
    assert not is_touched("art_11/thr_1", Hidden(artifacts=frozenset({"art_1"})))
    assert is_touched("thr_1/art_1", Hidden(artifacts=frozenset({"art_1"})))


def test_no_event_of_the_cases_shows_a_hidden_id() -> None:
    """Whatever is hidden, its id stands in nothing that is let through."""
    for case in cases():
        for event in case.expected.get("events", ()):
            text, named, type = stored(event)
            for id in filter(None, named.split(SEPARATOR)):
                hidden = Hidden(frozenset({id}), frozenset({id}))
                seen = visible_text(text, named=named, event_type=type, hidden=hidden)
                assert seen is None or f'"{id}"' not in seen
