"""Command frames over REST, batches, and what a repeated key gets."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connections
from rest_framework.throttling import BaseThrottle

from artifacts import selectors
from artifacts.core import ArtifactrError, ConfigurationError, Unavailable, UserActor
from artifacts.surfaces import problems
from artifacts.surfaces.rest import ApiView
from artifacts.workspace import Workspace
from tests.artifacts.rest import Answer, Caller, Cast, make_cast

pytestmark = pytest.mark.django_db
PARALLEL = 12
CREATE = {"type": "create_artifact", "artifact_id": "art_1", "kind": "rest_note"}
ADD_TAG = {"op": "add", "path": "/tags/-", "value": "t"}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def edit(base_version: int, **members: Any) -> dict[str, Any]:
    return {
        "type": "edit_artifact",
        "artifact_id": "art_1",
        "base_version": base_version,
        "patch": {"kind": "json_patch", "ops": [ADD_TAG]},
        **members,
    }


def test_a_frame_gets_its_result(cast: Cast) -> None:
    answer = cast.ben.command(CREATE, command_id="cmd_1")
    assert answer.status == 200
    assert answer.body == {
        "type": "command_result",
        "command_id": "cmd_1",
        "ok": True,
        "outcome": {"type": "applied", "artifact_id": "art_1", "version": 1, "seq": 1},
    }
    assert "command_id" not in cast.ben.command(edit(1)).body


@pytest.mark.parametrize(
    ("command", "status", "type"),
    [
        (edit(7), 409, "version_conflict"),
        (CREATE, 409, "invalid_state"),
        (edit(1, artifact_id="art_none"), 404, "not_found"),
        (edit(1, patch={"kind": "json_patch", "ops": []}), 422, "patch_failed"),
        (edit(1, colour="red"), 422, "validation_failed"),
        ({"type": "dance"}, 422, "validation_failed"),
        ({"type": "watch_run", "run_id": "run_1"}, 422, "validation_failed"),
        ("create", 422, "validation_failed"),
        (
            {"type": "respond_to_proposal", "proposal_id": "prp_1", "decision": "accept"},
            403,
            "forbidden",
        ),
    ],
)
def test_every_rejection_is_told_in_the_result(
    cast: Cast, command: Any, status: int, type: str
) -> None:
    cast.ben.command(CREATE)
    answer = cast.ben("POST", "commands/", {"command_id": "cmd_1", "command": command})
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.body["command_id"] == "cmd_1"
    assert answer.body["ok"] is False
    assert answer.body["rejection"]["type"] == type
    assert cast.door.head_seq() == 1


def test_a_conflict_brings_the_changes_since(cast: Cast) -> None:
    cast.ben.command(CREATE)
    cast.ben.command(edit(1))
    rejection = cast.ben.command(edit(1)).body["rejection"]
    assert (rejection["base"], rejection["head"]) == (1, 2)
    assert [change["version"] for change in rejection["changes"]] == [2]


def test_input_is_never_said_back(cast: Cast) -> None:
    for command in (edit(1, colour="SECRET"), {"type": "SECRET"}, {**CREATE, "kind": "SECRET"}):
        answer = cast.ben.command(command, command_id="a/SECRET")
        assert answer.status == 422
        assert "SECRET" not in answer.text


def test_a_repeated_id_gets_the_first_result(cast: Cast) -> None:
    first = cast.ben.command(CREATE, command_id="cmd_1")
    again = cast.ben.command({"type": "create_thread", "title": "x"}, command_id="cmd_1")
    assert (again.status, again.body) == (first.status, first.body)
    refused = cast.ben.command(edit(9), command_id="cmd_2")
    assert cast.ben.command(edit(1), command_id="cmd_2").body == refused.body
    other = cast.ana.command(edit(1), command_id="cmd_1")
    assert other.body["outcome"]["version"] == 2
    assert cast.door.head_seq() == 2


def test_an_idempotency_key_also_refuses_another_body(cast: Cast) -> None:
    frame = {"command": CREATE}
    first = cast.ben("POST", "commands/", frame, Idempotency_Key="key-1")
    assert first.body["command_id"] == "key-1"
    again = cast.ben("POST", "commands/", frame, Idempotency_Key="key-1")
    assert again.body == first.body
    spaced = cast.ben(
        "POST",
        "commands/",
        raw=b'{ "command": {"kind": "rest_note", "artifact_id": "art_1",'
        b' "type": "create_artifact"}}',
        Idempotency_Key="key-1",
    )
    assert spaced.body == first.body
    other = cast.ben("POST", "commands/", {"command": edit(1)}, Idempotency_Key="key-1")
    assert other.status == 422
    assert other.body["rejection"]["errors"][0]["loc"] == ["Idempotency-Key"]


def test_a_key_stands_for_one_route_too(cast: Cast) -> None:
    body = {"kind": "rest_note"}
    first = cast.ben.post("artifacts/", body, Idempotency_Key="key-1")
    assert first.status == 201
    assert cast.ben.post("artifacts/", body, Idempotency_Key="key-1").body == first.body
    assert cast.ben.post("feedback/", body, Idempotency_Key="key-1").status == 422
    other = cast.ben.post("artifacts/", {**body, "data": {"title": "x"}}, Idempotency_Key="key-1")
    assert (other.status, other.code) == (422, "validation_failed")
    assert cast.door.head_seq() == 1


def test_two_ids_for_one_command_are_refused(cast: Cast) -> None:
    frame = {"command": CREATE, "command_id": "cmd_1"}
    answer = cast.ben("POST", "commands/", frame, Idempotency_Key="cmd_2")
    assert answer.status == 422
    assert cast.door.head_seq() == 0


@pytest.mark.parametrize("key", ["a/b", "x" * 129])
def test_a_key_that_is_no_id_is_refused(cast: Cast, key: str) -> None:
    answer = cast.ben.post("artifacts/", {"kind": "rest_note"}, Idempotency_Key=key)
    assert (answer.status, answer.code) == (422, "validation_failed")
    assert answer.body["errors"][0]["loc"] == ["Idempotency-Key"]


def test_a_batch_is_one_change_set(cast: Cast) -> None:
    body = {"commands": [CREATE, edit(1), {**CREATE, "artifact_id": "art_2"}]}
    done = cast.ben.post("commands/batch/", body)
    assert done.status == 200
    assert [each["type"] for each in done.body["outcomes"]] == ["applied"] * 3
    assert done.body["last_seq"] == 3
    written = cast.vera.get(f"change-sets/{done.body['change_set_id']}/").body
    assert written["origin"] == "batch"
    assert [(each["artifact_id"], each["version"]) for each in written["revisions"]] == [
        ("art_1", 1),
        ("art_1", 2),
        ("art_2", 1),
    ]


def test_a_batch_fails_as_a_whole_and_says_where(cast: Cast) -> None:
    refused = cast.ben.post("commands/batch/", {"commands": [CREATE, edit(5)]})
    assert (refused.status, refused.code) == (409, "version_conflict")
    assert refused.body["index"] == 1
    assert cast.door.head_seq() == 0
    wrong = cast.ben.post("commands/batch/", {"commands": [CREATE, {"type": "dance"}]})
    assert wrong.status == 422
    assert wrong.body["errors"][0]["loc"][:2] == ["commands", 1]


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_has_its_bounds(cast: Cast, count: int) -> None:
    commands = [{**CREATE, "artifact_id": f"art_{number}"} for number in range(count)]
    refused = cast.ben.post("commands/batch/", {"commands": commands})
    assert (refused.status, refused.code) == (422, "validation_failed")
    assert cast.door.head_seq() == 0


def test_a_batch_may_hold_only_what_the_role_allows(cast: Cast) -> None:
    respond = {"type": "respond_to_proposal", "proposal_id": "prp_1", "decision": "accept"}
    refused = cast.ben.post("commands/batch/", {"commands": [CREATE, respond]})
    assert (refused.status, refused.code) == (403, "forbidden")
    assert cast.door.head_seq() == 0


def test_a_repeated_batch_gets_the_first_result(cast: Cast) -> None:
    body = {"commands": [CREATE, edit(1)]}
    first = cast.ben.post("commands/batch/", body, Idempotency_Key="key-1")
    again = cast.ben.post("commands/batch/", body, Idempotency_Key="key-1")
    assert (again.status, again.body) == (200, first.body)
    assert cast.door.head_seq() == 2


@pytest.mark.parametrize("path", ["commands/", "artifacts/"])
def test_a_busy_store_says_when_to_try_again(
    cast: Cast, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*args: Any, **kwargs: Any) -> None:
        raise Unavailable(retry_after=7)

    monkeypatch.setattr(Workspace, "commit", busy)
    body = {"command": CREATE} if path == "commands/" else {"kind": "rest_note"}
    answer = cast.ben.post(path, body)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
    told = answer.body.get("rejection", answer.body)
    assert told["retry_after"] == 7


@pytest.mark.parametrize("state", [None, "57P01", "55P03"])
def test_a_database_that_is_away_is_told_on_reads_too(
    cast: Cast, state: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any, **kwargs: Any) -> None:
        cause = psycopg.OperationalError("the connection is lost")
        cause.sqlstate = state
        raise OperationalError from cause

    monkeypatch.setattr(selectors, "artifacts", away)
    answer = cast.ben.get("artifacts/")
    assert (answer.status, answer.code) == (503, "unavailable")
    assert answer.headers["Retry-After"]


def test_a_mistake_of_ours_in_the_database_is_no_busyness(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("no such table")

    monkeypatch.setattr(selectors, "artifacts", wrong)
    with pytest.raises(OperationalError):
        cast.ben.get("artifacts/")


class Never(BaseThrottle):
    def allow_request(self, request: Any, view: Any) -> bool:
        return False

    def wait(self) -> float:
        return 2.5


def test_a_hosts_throttle_is_told_as_a_problem(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApiView, "throttle_classes", [Never])
    answer = cast.ben.get("artifacts/")
    assert (answer.status, answer.code) == (429, "throttled")
    assert answer.headers["Retry-After"] == "3"


@pytest.mark.django_db(transaction=True)
def test_one_key_sent_many_times_at_once_has_one_effect(cast: Cast) -> None:
    key = cast.key("editor").headers
    together = threading.Barrier(PARALLEL)

    def post(_: int) -> Answer:
        caller = Caller(cast.base, headers=key)
        together.wait()
        try:
            return caller.post("artifacts/", {"kind": "rest_note"}, Idempotency_Key="key-1")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = list(pool.map(post, range(PARALLEL)))
    made = [answer for answer in answers if answer.status == 201]
    assert made
    assert {answer.text for answer in made} == {made[0].text}
    running = [answer.code for answer in answers if answer.status != 201]
    assert set(running) <= {"command_running"}
    again = Caller(cast.base, headers=key)
    repeated = again.post("artifacts/", {"kind": "rest_note"}, Idempotency_Key="key-1")
    assert (repeated.status, repeated.body) == (201, made[0].body)
    assert cast.door.head_seq() == 1


@pytest.mark.django_db(transaction=True)
def test_one_proposal_is_decided_once(cast: Cast) -> None:
    cast.ben.command(CREATE)
    proposal = {"type": "propose_change", "proposal_id": "prp_1", "change": edit(1)}
    cast.ben.command(proposal)
    keys = [
        cast.key("reviewer", actor=UserActor(id=f"r{number}")).headers for number in range(PARALLEL)
    ]
    together = threading.Barrier(PARALLEL)

    def decide(number: int) -> Answer:
        caller = Caller(cast.base, headers=keys[number])
        together.wait()
        try:
            return caller.post(
                "proposals/prp_1/respond/", {"decision": ("accept", "reject")[number % 2]}
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = list(pool.map(decide, range(PARALLEL)))
    [won] = [answer for answer in answers if answer.status == 200]
    lost = [answer for answer in answers if answer is not won]
    assert {(answer.status, answer.code) for answer in lost} == {(409, "invalid_state")}
    outcome = {"accept": "accepted", "reject": "rejected"}[won.body["decision"]]
    assert all(outcome in answer.body["detail"] for answer in lost)
    events = [each.event.type for each in cast.door.read(after_seq=2)]
    assert events.count("proposal_resolved") == 1
    assert events.count("artifact_changed") == (won.body["decision"] == "accept")


def errors(cls: type[ArtifactrError] = ArtifactrError) -> list[type[ArtifactrError]]:
    return [each for sub in cls.__subclasses__() for each in (sub, *errors(sub))]


def test_every_error_has_its_status() -> None:
    concrete = [each for each in errors() if not each.is_abstract]
    assert len(concrete) > 9
    missing = [each.__name__ for each in concrete if each.code not in problems.STATUS]
    assert not missing, "give it a line in artifacts/surfaces/problems.py"


def test_an_app_registers_the_statuses_of_its_own_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "STATUS", dict(problems.STATUS))
    problems.register_statuses({"out_of_ink": 409})
    assert problems.STATUS["out_of_ink"] == 409
    for wrong, said in (
        ({"out_of_ink": 410}, "already registered"),
        ({"not_found": 200}, "already registered"),
        ({"fine": 200}, "is no status of an error"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            problems.register_statuses(wrong)
    assert "fine" not in problems.STATUS
