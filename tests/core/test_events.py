"""Known events are a closed union; unknown ones pass through as they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mypy import api
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from artifacts.core import Envelope, UnknownEvent, event_adapter, is_delivered_to
from artifacts.core.events import EVENT_TYPES, WORKSPACE_WIDE, AnyKnownEvent
from tests.support.conformance import cases
from tests.support.patches import JSON

ROOT = Path(__file__).parents[2]
NAMES = [model.__name__ for model in get_args(AnyKnownEvent)]
SNIPPET = """
from typing import assert_never

from artifacts.core import events
from artifacts.core.events import AnyKnownEvent


def name(event: AnyKnownEvent) -> str:
    match event:
{arms}
        case _:
            assert_never(event)
"""
ENVELOPE = {
    "seq": 1,
    "id": "evt_1",
    "ts": "2026-01-02T03:04:05Z",
    "workspace_id": "ws_1",
    "actor": {"kind": "system", "name": "system"},
}


def test_leaving_out_an_event_fails_the_type_check(tmp_path: Path) -> None:
    for name, known in (("complete", NAMES), ("incomplete", NAMES[:-1])):
        arms = "\n".join(f"        case events.{each}():\n            return ''" for each in known)
        (tmp_path / f"{name}.py").write_text(SNIPPET.format(arms=arms))
    said, errors, status = api.run(
        [
            "--config-file=",
            "--strict",
            f"--cache-dir={ROOT / '.mypy_cache' / 'union'}",
            "--follow-imports=silent",
            *(str(tmp_path / f"{name}.py") for name in ("complete", "incomplete")),
        ]
    )
    assert status == 1, said + errors
    found = [line for line in said.splitlines() if ": error:" in line]
    assert len(found) == 1, said
    assert "incomplete.py" in found[0]
    assert f'"{NAMES[-1]}"' in found[0]
    assert "assert_never" in found[0]


@given(st.dictionaries(st.text(min_size=1).filter(lambda name: name != "type"), JSON, max_size=4))
def test_an_unknown_event_round_trips_unchanged(members: dict[str, Any]) -> None:
    event = {"type": "artifact_forked", **members}
    read = Envelope.model_validate({**ENVELOPE, "event": event})
    assert isinstance(read.event, UnknownEvent)
    assert read.wire() == {**ENVELOPE, "event": event}
    stored = to_json(read, exclude_none=True)
    assert from_json(stored)["event"] == event
    assert Envelope.model_validate_json(stored) == read


def test_a_known_type_with_a_wrong_form_is_no_unknown_event() -> None:
    with pytest.raises(ValidationError):
        event_adapter.validate_python({"type": "thread_created", "thread_id": "thr_1"})
    with pytest.raises(ValidationError):
        event_adapter.validate_python({"thread_id": "thr_1"})


def test_every_event_of_the_cases_round_trips() -> None:
    for case in cases():
        for event in case.expected.get("events", ()):
            read = event_adapter.validate_python(event)
            assert type(read).__name__ in NAMES
            assert event_adapter.validate_json(to_json(read.wire())) == read


@pytest.mark.parametrize("type", sorted(EVENT_TYPES | {"artifact_forked"}))
def test_delivery(type: str) -> None:
    assert is_delivered_to(type, "thr_1", None)
    assert is_delivered_to(type, "thr_1", frozenset({"thr_1"}))
    assert is_delivered_to(type, None, frozenset())
    assert is_delivered_to(type, "thr_1", frozenset({"thr_2"})) == (type in WORKSPACE_WIDE)
    assert (type in WORKSPACE_WIDE) == (
        type.startswith(("artifact_", "proposal_")) and type in EVENT_TYPES
    )
