"""The schema that is checked in is the protocol, and every frame of the cases is valid by it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import ValidationError

from artifacts.core import (
    PROTOCOL,
    client_command_adapter,
    client_frame_adapter,
    protocol_schema,
    protocol_schema_text,
    server_frame_adapter,
)
from artifacts.core.events import EVENT_TYPES
from tests.support.conformance import READERS, cases

COMMITTED = Path(__file__).parents[2] / "schemas" / f"{PROTOCOL}.json"
SCHEMA = protocol_schema()
ENVELOPE = {"seq": 1, "id": "evt_1", "ts": "2026-01-02T03:04:05Z", "workspace_id": "ws"}
ADA = {"kind": "user", "id": "1"}
ENTITIES = {
    "artifacts": "Versioned",
    "revisions": "Revision",
    "proposals": "Proposal",
    "groups": "Group",
    "threads": "Thread",
    "runs": "Run",
}


def test_the_committed_schema_is_the_protocol() -> None:
    assert COMMITTED.read_text() == protocol_schema_text(), (
        "the protocol has changed: manage.py protocol_schema > schemas/artifactr.v1.json"
    )


def test_the_command_writes_it() -> None:
    out = StringIO()
    call_command("protocol_schema", stdout=out)
    assert out.getvalue() == protocol_schema_text()


def errors(name: str, value: Any) -> list[str]:
    schema = {"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for name in SCHEMA["x-client-frames"] + SCHEMA["x-server-frames"]:
        assert "type" in SCHEMA["$defs"][name]["required"], name


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_what_the_cases_hold_is_valid(case: Any) -> None:
    for event in case.expected.get("events", ()):
        assert not errors("EventFrame", {"type": "event", **ENVELOPE, "actor": ADA, "event": event})
    for family, name in ENTITIES.items():
        for entity in case.expected.get(family, ()):
            assert not errors(name, READERS[family].validate_python(entity).wire())
    if "rejection" not in case.expected:
        outcome = {"type": "command_result", "command_id": "c", "ok": True}
        assert not errors("CommandResult", {**outcome, "outcome": case.expected["outcome"]})
        if "command" in case.raw:
            frame = {"type": "command", "command_id": "c", "command": case.raw["command"]}
            assert not errors("CommandFrame", frame)


@pytest.mark.parametrize(
    "command",
    [
        {"type": "delete_everything"},
        {"type": "create_thread", "title": "x", "owner": "me"},
        {"type": "post_message", "thread_id": "t", "content": ""},
        {"type": "edit_artifact", "artifact_id": "a", "base_version": 0,
         "patch": {"kind": "json_patch", "ops": []}},
        {"title": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_a_malformed_command_is_invalid_by_it(command: dict[str, Any]) -> None:
    assert errors("CommandFrame", {"type": "command", "command_id": "c", "command": command})


def test_an_event_is_known_or_unknown_and_never_both() -> None:
    for type in sorted(EVENT_TYPES):
        assert errors("UnknownEvent", {"type": type})
    frame = {"type": "event", **ENVELOPE, "actor": ADA}
    assert not errors("EventFrame", {**frame, "event": {"type": "forked", "whatever": None}})
    assert errors("EventFrame", {**frame, "event": {"type": "thread_created"}})


FRAMES = [
    {"type": "hello", "protocol": "artifactr.v1", "resume_after_seq": 3, "threads": ["thr_1"]},
    {"type": "command", "command_id": "c", "command": {"type": "watch_run", "run_id": "run_1"}},
    {"type": "welcome", "protocol": "artifactr.v1", "workspace_id": "ws", "head_seq": 3,
     "reset": False, "active_runs": [{"run_id": "run_1", "thread_id": "thr_1"}]},
    {"type": "replay_complete", "up_to_seq": 3},
    {"type": "live", "run_id": "r",
     "event": {"type": "part_started", "part": 0, "part_kind": "text"}},
    {"type": "live", "run_id": "r", "event": {"type": "text_delta", "part": 0, "delta": "Hi"}},
    {"type": "live", "run_id": "r",
     "event": {"type": "draft", "kind": "doc", "data": {"text": None}}},
    {"type": "command_result", "command_id": "c", "ok": False,
     "rejection": {"type": "not_found", "message": "no", "entity": "run", "id": "r"}},
    {"type": "error", "message": "what?"},
]  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame["type"])
def test_a_frame_reads_and_writes_as_it_is(frame: dict[str, Any]) -> None:
    is_ours = frame["type"] in ("hello", "command")
    read = (client_frame_adapter if is_ours else server_frame_adapter).validate_python(frame)
    assert {**read.wire(), **frame} == read.wire()
    assert not errors(type(read).__name__, frame)


def test_a_hello_starts_at_one_place() -> None:
    hello = {"type": "hello", "protocol": PROTOCOL, "from_head": True}
    assert client_frame_adapter.validate_python(hello).wire()["from_head"]
    with pytest.raises(ValidationError, match="resume_after_seq must be 0"):
        client_frame_adapter.validate_python({**hello, "resume_after_seq": 3})


def test_commands_of_the_transport_only() -> None:
    for name in ("stop_run", "watch_run"):
        read = client_command_adapter.validate_python({"type": name, "run_id": "run_1"})
        assert read.wire() == {"type": name, "run_id": "run_1"}
