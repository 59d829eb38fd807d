"""The client: binding, feedback and records, the same over HTTP and in process, sync and async."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from artifacts import clock
from artifacts.core.errors import ArtifactrError
from artifacts.models import Workspace as Row
from feedback import client as http
from feedback.bound import BoundArtifact
from feedback.client import ApiError
from feedback.models import ArtifactUse
from feedback.services import uses
from learning.models import Record
from tests.feedback.clients import WAYS, Caller, as_program, calling
from tests.support.cast import make_workspace
from tests.support.skilled import ADA, RECIPE, SKILL, TASK, put_skill

UNKNOWN = "use_" + "0" * 32


@pytest.fixture(params=WAYS)
def caller(
    request: pytest.FixtureRequest, row: Row, server_of: Callable[[str], str]
) -> Iterator[Caller]:
    with calling(request.param, row, server_of(request.param)) as made:
        yield made


@pytest.fixture(params=WAYS[:2])
def http_caller(request: pytest.FixtureRequest, row: Row, site_url: str) -> Iterator[Caller]:
    with calling(request.param, row, site_url) as made:
        yield made


@pytest.fixture
def program(row: Row, site_url: str) -> Iterator[http.Client]:
    with calling("http", row, site_url) as made:
        yield made.client


def test_a_bind_gives_a_frozen_handle_with_the_rendered_text(caller: Caller, row: Row) -> None:
    bound = caller.bind(RECIPE, TASK)

    assert isinstance(bound, BoundArtifact)
    assert SKILL["steps"] in bound.content
    assert bound.render_sha256 == hashlib.sha256(bound.content.encode()).hexdigest()
    assert bound.artifact["name"] == RECIPE
    assert bound.artifact["version"] == 1
    assert len(bound.artifact["definition_hash"]) == 64
    assert bound.snapshot_id is None
    assert bound.truncated is False
    assert bound.expires_at is not None
    assert bound.learning_target is not None
    assert [head["key"] for head in bound.learning_target["heads"]] == list(SKILL)
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.id = UNKNOWN  # type: ignore[misc]
    # The same as somebody else reads it, and the same text for the same inputs.
    assert uses.use(as_program(row), bound.id).render_sha256 == bound.render_sha256
    assert caller.bind(RECIPE, TASK).render_sha256 == bound.render_sha256
    assert ArtifactUse.objects.count() == 2


def test_what_there_is_none_of_is_none(caller: Caller) -> None:
    bound = caller.bind("maintained_skill", {"entity": "agent:nobody"})
    assert bound.learning_target is None
    assert bound.snapshot_id is None


def test_a_snapshot_keeps_the_very_text(caller: Caller) -> None:
    bound = caller.bind(RECIPE, TASK, snapshot=True)
    assert bound.snapshot_id is not None
    snapshot = caller(caller.client.record(bound.snapshot_id))
    assert snapshot["content"]["render_sha256"] == bound.render_sha256
    answer = caller(caller.client.feedback.for_use(bound.id).thumbs_up())
    signal = caller(caller.client.record(answer["record_id"]))
    assert signal["derived_from"] == [bound.snapshot_id]


def test_a_use_binds_once_and_lets_exceptions_through(caller: Caller) -> None:
    class Unwell(Exception):
        pass

    error, seen = Unwell("of the caller's own"), []

    def work(bound: BoundArtifact) -> None:
        seen.append(bound)
        raise error

    with pytest.raises(Unwell) as raised:
        caller.within(RECIPE, TASK, work)
    assert raised.value is error
    (bound,) = seen
    assert ArtifactUse.objects.count() == 1
    # The use is as good as before.
    caller(caller.client.feedback.for_use(bound.id).thumbs_down(comment="It broke off."))


@pytest.mark.parametrize(
    ("method", "details", "source"),
    [
        ("thumbs_up", {}, "end_user"),
        ("thumbs_down", {"comment": "Wrong refund status."}, "end_user"),
        ("correction", {"expected": "It is pending."}, "operator"),
        ("evaluation", {"score": 0.2, "label": "incorrect_status"}, "evaluator"),
        ("thumbs_down", {"source": "operator"}, "operator"),
        ("evaluation", {"source": None, "score": 1}, "evaluator"),
    ],
)
def test_the_fluent_form_has_a_usual_source_for_each_kind(
    caller: Caller, method: str, details: dict[str, Any], source: str
) -> None:
    bound = caller.bind(RECIPE, TASK)
    say = getattr(caller.client.feedback.for_use(bound.id), method)
    answer = caller(say(**details))

    assert answer["duplicate"] is False
    signal = caller(caller.client.record(answer["record_id"]))
    assert signal["type"] == method
    assert signal["entity"] == "artifact:maintained_skill"
    said = {**signal["content"]["signal"], **signal["content"]["evidence"]}
    assert said == {"kind": method, **details, "source": source}
    # Here null is a claim, and arrives as one.
    assert signal["content"]["artifact_use"]["snapshot_id"] is None


def test_a_submission_says_its_record_and_whether_it_was_there_before(caller: Caller) -> None:
    bound = caller.bind(RECIPE, TASK)
    outcome = {
        "use_id": bound.id,
        "kind": "task_failure",
        "source": "application",
        "dedupe_key": "message:17:failed",
        "execution_refs": [{"system": "traces", "id": "t-1", "url": "https://traces.example/t-1"}],
    }
    first, second = (caller(caller.client.feedback.submit(**outcome)) for _ in range(2))
    assert first == {"record_id": first["record_id"], "duplicate": False}
    assert second == {"record_id": first["record_id"], "duplicate": True}
    signal = caller(caller.client.record(first["record_id"]))
    assert signal["content"]["execution_refs"] == outcome["execution_refs"]
    assert "derived_from" not in signal or signal["derived_from"] == []


def test_records_are_kept_and_read(caller: Caller) -> None:
    signal = caller(caller.client.feedback.for_use(caller.bind(RECIPE, TASK).id).thumbs_down())
    evidence = {
        "collection": "outcomes",
        "entity": ADA,
        "type": "exception",
        "text": "It said the refund was paid.",
        "content": {"kind": "failure"},
        "derived_from": [signal["record_id"]],
        "dedupe_key": f"signal:{signal['record_id']}",
    }
    first, again = (caller(caller.client.records.ingest(**evidence)) for _ in range(2))
    assert first["duplicate"] is False
    assert again == {"record_id": first["record_id"], "duplicate": True}
    read = caller(caller.client.record(first["record_id"]))
    for name in ("collection", "entity", "type", "text", "content", "derived_from"):
        assert read[name] == evidence[name]


def test_several_records_are_kept_together_or_not_at_all(caller: Caller, row: Row) -> None:
    good = {"collection": "main", "entity": ADA, "type": "note", "text": "seen"}
    taken = caller(caller.client.records.ingest_all([good, {**good, "text": "heard"}]))
    assert len({each["record_id"] for each in taken}) == 2
    before = Record.objects.count()
    with pytest.raises(Exception) as refused:  # noqa: PT011 - another class each way
        caller(caller.client.records.ingest_all([good, {**good, "collection": "no_such"}]))
    assert code_of(refused.value) == "request_schema"
    assert Record.objects.count() == before


def code_of(error: BaseException) -> str:
    """The code that a refusal carries, whichever way it came."""
    assert isinstance(error, ApiError | ArtifactrError)
    return error.code


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda c: c.artifact("no_such").bind(), "artifact_not_found"),
        (lambda c: c.artifact(RECIPE).bind({"entity": ADA}), "artifact_parameter"),
        (
            lambda c: c.artifact("maintained_skill").bind({"entity": ADA}, snapshot=True),
            "artifact_snapshot",
        ),
        (lambda c: c.feedback.for_use(UNKNOWN).thumbs_up(), "artifact_use_not_found"),
        (lambda c: c.feedback.for_use("use_7").thumbs_up(), "request_schema"),
        (
            lambda c: c.feedback.submit(use_id=UNKNOWN, kind="applause", source="end_user"),
            "artifact_use_not_found",
        ),
        (lambda c: c.record("rec_unknown"), "not_found"),
        (lambda c: c.records.ingest(collection="main", entity=ADA), "request_schema"),
    ],
)
def test_what_is_refused_has_the_same_code_each_way(
    caller: Caller, call: Callable[[Any], Any], code: str
) -> None:
    with pytest.raises((ApiError, ArtifactrError)) as refused:
        caller(call(caller.client))
    assert code_of(refused.value) == code
    assert not ArtifactUse.objects.exists()


def test_a_refusal_is_of_a_class_for_its_code_with_status_and_detail(
    http_caller: Caller,
) -> None:
    with pytest.raises(http.ArtifactParameter) as refused:
        http_caller.bind(RECIPE, {"entity": ADA, "task": 7})
    assert refused.value.status == 422
    assert "task" in refused.value.detail
    assert refused.value.errors[0]["loc"] == ["parameters", "task"]
    assert refused.value.problem["title"] == "Unprocessable Content"
    assert isinstance(refused.value, http.ValidationFailed)


def test_a_dedupe_key_with_another_payload_conflicts(http_caller: Caller) -> None:
    say = http_caller.client.feedback.for_use(http_caller.bind(RECIPE, TASK).id)
    http_caller(say.thumbs_up(dedupe_key="message:1"))
    with pytest.raises(http.DedupeConflict) as refused:
        http_caller(say.thumbs_down(dedupe_key="message:1"))
    assert refused.value.status == 409


def test_an_expired_use_is_told_as_such(program: http.Client) -> None:
    bound = program.artifact(RECIPE).bind(TASK)
    ArtifactUse.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    with pytest.raises(http.ArtifactUseExpired) as refused:
        program.feedback.for_use(bound.id).thumbs_up()
    assert refused.value.status == 410


def test_a_required_block_that_does_not_fit_is_told_as_such(program: http.Client, row: Row) -> None:
    put_skill(as_program(row), {"examples": "word " * 2, "steps": "w" * 40_000})
    with pytest.raises(http.ArtifactBlock):
        program.artifact(RECIPE).bind(TASK)


def test_a_bad_key_a_viewers_key_and_a_foreign_key(row: Row, site_url: str) -> None:
    with (
        calling("http", row, site_url, key="ak_00000000." + "x" * 43) as bad,
        pytest.raises(http.Unauthorized),
    ):
        bad.bind(RECIPE, TASK)
    with calling("http", row, site_url, role="viewer") as viewer, pytest.raises(http.Forbidden):
        viewer.bind(RECIPE, TASK)
    foreign = make_workspace("there")
    with calling("http", foreign, site_url) as other:
        elsewhere = http.Client(
            f"{site_url}/api/v1", workspace=row.public_id, key=other.client._to._key
        )
        with elsewhere, pytest.raises(http.NotFound):
            elsewhere.artifact(RECIPE).bind(TASK)
    assert not ArtifactUse.objects.exists()


def test_no_name_leaves_its_place_in_the_address(program: http.Client) -> None:
    for name in ("", ".", "..", "../artifact-uses", "a/b"):
        with pytest.raises(ValueError, match="no name of anything"):
            program.record(name)
    with pytest.raises(http.NotFound):
        program.record("rec?limit=1#%2e%2e\\é")


def test_the_key_is_shown_nowhere(program: http.Client) -> None:
    key = program._to._key
    assert key not in repr(program) + repr(program._to) + str(vars(program))
    with pytest.raises(http.ApiError) as refused:
        program.artifact("no_such").bind()
    assert key not in str(refused.value) + repr(refused.value) + str(refused.value.problem)
