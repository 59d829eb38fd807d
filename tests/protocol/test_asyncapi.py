"""The AsyncAPI document that is checked in is the socket: every frame, every close code, its place.

It is made from the models, so what could be wrong is a frame left out, a reference to nowhere, or
a word about the consumer that is no longer true.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from artifacts.core.protocol import PROTOCOL, protocol_schema
from tests.support.conformance import cases
from threads.consumers import routing, stream
from threads.surfaces import asyncapi, closing

pytestmark = pytest.mark.once

COMMITTED = Path(__file__).parents[2] / "schemas" / f"{PROTOCOL}.asyncapi.yaml"
DOCUMENT: dict[str, Any] = yaml.safe_load(asyncapi.asyncapi_text())
CHANNEL = DOCUMENT["channels"]["stream"]
MESSAGES = DOCUMENT["components"]["messages"]
SCHEMAS = DOCUMENT["components"]["schemas"]
ENVELOPE = {
    "type": "event",
    "seq": 1,
    "id": "evt_1",
    "ts": "2026-01-02T03:04:05Z",
    "workspace_id": "ws",
    "actor": {"kind": "user", "id": "1"},
}


def test_the_committed_document_is_the_socket() -> None:
    assert COMMITTED.read_text() == asyncapi.asyncapi_text(), (
        f"the socket has changed: manage.py asyncapi > schemas/{COMMITTED.name}"
    )


def test_the_command_writes_it() -> None:
    out = StringIO()
    call_command("asyncapi", stdout=out)
    assert out.getvalue() == asyncapi.asyncapi_text()


def pointed_at(value: Any) -> Iterator[str]:
    """Every reference of the document."""
    for name, member in value.items() if isinstance(value, dict) else enumerate(value):
        if name == "$ref":
            yield member
        elif isinstance(member, dict | list):
            yield from pointed_at(member)


def target(reference: str) -> Any:
    found: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_every_reference_leads_somewhere() -> None:
    references = set(pointed_at(DOCUMENT))
    assert len(references) > len(MESSAGES)
    for reference in references:
        assert target(reference), reference


def names_in(operations: list[dict[str, Any]]) -> set[str]:
    return {
        target(target(each["$ref"])["$ref"])["payload"]["$ref"].rsplit("/", 1)[1]
        for operation in operations
        for each in operation["messages"]
    }


def test_every_frame_is_received_or_sent() -> None:
    protocol = protocol_schema()
    operations = DOCUMENT["operations"].values()
    received = [each for each in operations if each["action"] == "receive"]
    sent = [each for each in operations if each["action"] == "send"]
    answers = [each["reply"] for each in received if "reply" in each]
    assert names_in(received) == set(protocol["x-client-frames"])
    assert names_in(sent) | names_in(answers) == set(protocol["x-server-frames"])
    assert not names_in(sent) & names_in(answers)
    assert set(CHANNEL["messages"]) == set(MESSAGES)


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_named_as_on_the_wire(name: str) -> None:
    message = MESSAGES[name]
    payload = target(message["payload"]["$ref"])
    assert payload["properties"]["type"]["const"] == message["name"] == name
    assert "type" in payload["required"]
    if "correlationId" in message:
        path = message["correlationId"]["location"].removeprefix("$message.payload#/")
        assert path in payload["properties"]


def test_the_place_is_where_the_socket_is() -> None:
    route = str(routing.urlpatterns[0].pattern)
    assert CHANNEL["address"] == "/" + route.replace("<str:", "{").replace(">", "}")
    assert set(CHANNEL["parameters"]) == {"workspace_id"}
    assert stream.KEY_PROTOCOL == asyncapi.KEY_PROTOCOL
    assert CHANNEL["x-subprotocols"] == [stream.PROTOCOL]


def test_every_close_code_of_the_socket_is_told() -> None:
    used = {code for name, code in vars(closing).items() if name.isupper() and type(code) is int}
    assert {stream.BAD_HELLO, stream.BROKEN, *closing.OF_ERROR.values()} < used
    assert set(CHANNEL["x-close-codes"]) == {str(code) for code in used}
    for code, meaning in CHANNEL["x-close-codes"].items():
        assert f"`{code}` {meaning}" in CHANNEL["description"]


def errors(name: str, value: Any) -> list[str]:
    """What is wrong with a frame, for a tool that knows the document alone."""
    schema = {**MESSAGES[name]["payload"], "components": DOCUMENT["components"]}
    return [error.message for error in Draft7Validator(schema).iter_errors(value)]


def test_its_schemas_judge_frames_as_the_protocol_does() -> None:
    commands = [case for case in cases() if "command" in case.raw]
    for case in commands:
        frame = {"type": "command", "command_id": "c", "command": case.raw["command"]}
        if "rejection" not in case.expected:
            assert not errors("command", frame), case.id
        assert errors("command", {**frame, "extra": 1}), case.id
    events = [event for case in cases() for event in case.expected.get("events", ())]
    assert commands
    assert events
    for event in events:
        assert not errors("event", {**ENVELOPE, "event": event})
    assert errors("event", {**ENVELOPE, "event": {"type": "artifact_changed"}})
    assert errors("hello", {"type": "hello"})


def test_nothing_is_in_it_that_only_openapi_knows() -> None:
    for name, schema in SCHEMAS.items():
        assert '"mapping"' not in json.dumps(schema), name
        Draft7Validator.check_schema(schema)
