"""Every rejection has a stable code, typed details, and a payload that never repeats the input."""

from __future__ import annotations

import json

import pytest

from artifacts.core import (
    ConfigurationError,
    Forbidden,
    InvalidState,
    NotFound,
    PatchFailed,
    Rejection,
    RejectionPayload,
    Unavailable,
    UnsupportedProtocol,
    ValidationFailed,
    VersionConflict,
    command_adapter,
)
from artifacts.core.artifact import MOST_PROBLEMS, validated, validation_failed
from tests.support import kinds

REGISTERED = kinds  # importing the module registers the kinds that are named here

PAYLOADS = [
    (
        VersionConflict(artifact_id="art_1", base=1, head=2, changes=[{"version": 2}]),
        {"type": "version_conflict", "artifact_id": "art_1", "base": 1, "head": 2,
         "changes": [{"version": 2}]},
    ),
    (
        VersionConflict(artifact_id="a", base=1, head=3, moved=[{"artifact_id": "a"}]),
        {"type": "version_conflict", "artifact_id": "a", "base": 1, "head": 3,
         "moved": [{"artifact_id": "a"}]},
    ),
    (
        ValidationFailed.at(["data", "points"], "is odd"),
        {"type": "validation_failed",
         "errors": [{"loc": ["data", "points"], "msg": "is odd", "type": "value_error"}]},
    ),
    (NotFound("run", "run_1"), {"type": "not_found", "entity": "run", "id": "run_1"}),
    (PatchFailed("no"), {"type": "patch_failed"}),
    (InvalidState("no"), {"type": "invalid_state"}),
    (Forbidden("no"), {"type": "forbidden"}),
    (UnsupportedProtocol(), {"type": "unsupported_protocol"}),
]  # fmt: skip


@pytest.mark.parametrize(("rejection", "expected"), PAYLOADS, ids=lambda each: str(each)[:30])
def test_payload(rejection: Rejection, expected: dict[str, object]) -> None:
    payload = rejection.payload()
    assert payload.pop("message") == rejection.message == str(rejection)
    assert rejection.message
    assert payload == expected
    assert json.loads(json.dumps(payload)) == expected
    frame = RejectionPayload.model_validate(rejection.payload())
    assert frame.wire() == rejection.payload()


def test_every_class_of_rejection_is_here() -> None:
    assert {type(rejection) for rejection, _ in PAYLOADS} == {
        each for each in Rejection.__subclasses__() if each.__module__ == "artifacts.core.errors"
    }


def test_what_is_no_rejection() -> None:
    assert not issubclass(Unavailable, Rejection)
    assert not issubclass(ConfigurationError, Rejection)
    assert Unavailable(retry_after=7).payload()["retry_after"] == 7


def test_a_rejection_has_words_of_its_own() -> None:
    assert Forbidden().message == "This actor may not do that."
    assert ValidationFailed.at([], "is wrong").message == "is wrong"
    assert ValidationFailed.at(["a", 0], "is wrong").message == "a.0: is wrong"


SECRET = "s3cr3t-of-the-sender"


@pytest.mark.parametrize(
    "command",
    [
        {"type": SECRET},
        {"type": "create_thread", "title": {"a": SECRET}},
        {"type": "create_thread", "title": "x", "thread_id": f"{SECRET}/"},
        {"type": "edit_artifact", "artifact_id": "a", "base_version": SECRET, "patch": {}},
        {"type": "edit_artifact", "artifact_id": "a", "base_version": 1,
         "patch": {"kind": SECRET}},
        {"type": "set_thread_mode", "thread_id": "a", "mode": SECRET},
        {"type": "give_feedback", "feedback_type": "a", "value": {}, "target": {"kind": SECRET}},
    ],
    ids=lambda command: command["type"][:20],
)  # fmt: skip
def test_a_malformed_command_is_not_repeated(command: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="error") as found:
        command_adapter.validate_python(command)
    assert SECRET not in json.dumps(validation_failed(found.value).payload())  # type: ignore[arg-type]


def test_refused_data_is_not_repeated() -> None:
    with pytest.raises(ValidationFailed) as found:
        validated("card", {"title": "x", "size": SECRET, "points": SECRET, "labels": [{SECRET: 1}]})
    assert SECRET not in json.dumps(found.value.payload())


def test_a_rejection_names_so_many_problems_and_so_much_of_a_name() -> None:
    data = {"title": "x", "y" * 1_000: 1, **{f"m{n}": n for n in range(500)}}
    with pytest.raises(ValidationFailed) as found:
        validated("card", data)
    assert len(found.value.errors) == MOST_PROBLEMS
    assert "500 more" in found.value.message
    assert len(json.dumps(found.value.payload())) < 10_000
