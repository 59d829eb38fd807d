"""The REST surface of uses: bind, read, list, and feedback, with each error of the table."""

from __future__ import annotations

import dataclasses
import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import override_settings

from artifacts import clock
from artifacts.core import EvaluatorActor
from artifacts.workspace import open_workspace
from feedback.api.schemas import Bound
from feedback.bound import BoundArtifact
from feedback.models import ArtifactUse
from feedback.services.signals import Submission
from learning.models import Record, RecordHead
from learning.services.records import record
from tests.artifacts.rest import PREFIX, Answer, Caller, Cast, make_cast
from tests.feedback.uses import ENTITY, PROMPT, furnish, promote
from tests.learning.catalogs import apply
from tests.support.cast import SYSTEM

pytestmark = pytest.mark.django_db(transaction=True)
BIND = f"catalog/artifacts/{PROMPT}/uses/"
PARAMETERS = {"entity": ENTITY, "task": "Answer."}
SAID = {"kind": "thumbs_down", "source": "end_user", "comment": "Wrong."}
UNKNOWN = "use_" + "0" * 32


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    furnish(cast.door)
    return cast


def binding(caller: Caller, **headers: str) -> Answer:
    return caller.post(BIND, {"parameters": PARAMETERS}, **headers)


def feedback(use_id: str) -> str:
    return f"artifact-uses/{use_id}/feedback/"


def counts() -> tuple[int, int, list[int]]:
    """All that an error might have left behind."""
    seqs = list(RecordHead.objects.order_by("pk").values_list("seq", flat=True))
    return ArtifactUse.objects.count(), Record.objects.count(), seqs


def test_the_whole_loop(cast: Cast) -> None:
    answer = binding(cast.ben)
    assert answer.status == 201
    use = BoundArtifact.of(answer.body)
    assert set(answer.body) == {each.name for each in dataclasses.fields(BoundArtifact)}
    assert hashlib.sha256(use.content.encode()).hexdigest() == use.render_sha256
    read = cast.vera.get(f"artifact-uses/{use.id}/")
    assert read.status == 200
    assert set(read.body) == {
        "id", "artifact", "render_sha256", "truncated", "learning_target", "snapshot_id",
        "created_at", "expires_at", "expired",
    }  # fmt: skip
    assert read.body["snapshot_id"] is None
    assert read.body["learning_target"] == use.learning_target
    assert (read.body["expires_at"], read.body["expired"]) == (use.expires_at, False)
    given = cast.vera.post(feedback(use.id), {**SAID, "dedupe_key": "m1"})
    assert given.status == 201
    assert given.body["duplicate"] is False
    kept = record(cast.door, given.body["record_id"])
    assert kept.type == "thumbs_down"
    again = cast.vera.post(feedback(use.id), {**SAID, "dedupe_key": "m1"})
    assert (again.status, again.body) == (200, {**given.body, "duplicate": True})
    listed = cast.vera.get(f"artifact-uses/{use.id}/signals/")
    assert [each["id"] for each in listed.body["results"]] == [kept.id]


def test_the_payload_is_described_as_it_is() -> None:
    assert set(Bound.model_fields) == {each.name for each in dataclasses.fields(BoundArtifact)}


def test_a_preview_shows_the_text_and_its_making_and_binds_nothing(cast: Cast) -> None:
    answer = cast.vera.post(f"catalog/artifacts/{PROMPT}/render/", {"parameters": PARAMETERS})
    assert answer.status == 200
    bound = binding(cast.ben).body
    for name in ("content", "render_sha256", "truncated", "learning_target"):
        assert answer.body[name] == bound[name]
    assert answer.body["manifest"]["blocks"]["skill"]["shown"] == 3
    assert ArtifactUse.objects.count() == 1


def test_a_snapshot_is_asked_for_in_the_body(cast: Cast) -> None:
    answer = cast.ben.post(BIND, {"parameters": PARAMETERS, "snapshot": True})
    kept = record(cast.door, answer.body["snapshot_id"])
    assert kept.content["content"] == answer.body["content"]


def test_a_repeated_key_is_one_use(cast: Cast) -> None:
    first, again = (binding(cast.ben, Idempotency_Key="key-1") for _ in range(2))
    assert (again.status, again.body) == (first.status, first.body)
    other = cast.ben.post(BIND, {"parameters": {**PARAMETERS, "task": "Other."}},
                          Idempotency_Key="key-1")  # fmt: skip
    assert (other.status, other.code) == (422, "request_schema")
    promote(cast.door, steps="Other.")
    changed = binding(cast.ben, Idempotency_Key="key-1")
    assert (changed.status, changed.code, changed.body["id"]) == (
        409, "render_changed", first.body["id"],
    )  # fmt: skip


def test_lists_are_pages(cast: Cast) -> None:
    ids = [binding(cast.ben).body["id"] for _ in range(3)]
    page = cast.vera.get("artifact-uses/?limit=2").body
    assert [each["id"] for each in page["results"]] == ids[:2]
    rest = cast.vera.client.get(page["next"]).json()
    assert ([each["id"] for each in rest["results"]], rest["next"]) == (ids[2:], None)
    head = page["results"][0]["learning_target"]["heads"][0]["record_id"]
    for query, expected in (
        (f"recipe={PROMPT}", ids), (f"recipe={PROMPT}@1", ids), (f"recipe={PROMPT}@2", []),
        (f"head={head}", ids), ("head=rec_none", []),
    ):  # fmt: skip
        found = cast.vera.get(f"artifact-uses/?{query}").body["results"]
        assert [each["id"] for each in found] == expected
    for number in range(3):
        cast.vera.post(feedback(ids[0]), {**SAID, "comment": f"{number}"})
    page = cast.vera.get(f"artifact-uses/{ids[0]}/signals/?limit=2").body
    rest = cast.vera.client.get(page["next"]).json()
    assert [len(page["results"]), len(rest["results"])] == [2, 1]


# Errors


ROUTES: list[tuple[str, str, Any]] = [
    ("POST", BIND, {"parameters": PARAMETERS}),
    ("POST", f"catalog/artifacts/{PROMPT}/render/", {"parameters": PARAMETERS}),
    ("GET", "artifact-uses/", None),
    ("GET", f"artifact-uses/{UNKNOWN}/", None),
    ("GET", f"artifact-uses/{UNKNOWN}/signals/", None),
    ("POST", feedback(UNKNOWN), SAID),
]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_401_without_a_credential(cast: Cast, method: str, path: str, body: Any) -> None:
    bad = Caller(cast.base, headers={"Authorization": "Bearer ak_0.bad"})
    for caller in (cast.nobody, bad):
        answer = caller(method, path, body)
        assert (answer.status, answer.code) == (401, "unauthorized")


def test_a_use_id_is_no_credential(cast: Cast) -> None:
    use_id = binding(cast.ben).body["id"]
    for path in (f"artifact-uses/{use_id}/", f"artifact-uses/{use_id}/signals/"):
        assert cast.nobody.get(path).status == 401
        assert cast.stranger.get(path).status == 404
    assert "content" not in cast.vera.get(f"artifact-uses/{use_id}/").body


@pytest.mark.parametrize("name", ["nothing", "x" * 129, "Not-a-name", "prompt%00"])
def test_404_for_a_recipe_that_is_not_there(cast: Cast, name: str) -> None:
    for route in ("uses", "render"):
        answer = cast.ben.post(f"catalog/artifacts/{name}/{route}/", {"parameters": {}})
        assert (answer.status, answer.code) == (404, "artifact_not_found")


def test_404_is_the_same_for_an_unknown_and_a_foreign_use(cast: Cast) -> None:
    foreign = cast.elsewhere.public_id
    furnish(open_workspace(foreign, actor=SYSTEM))
    theirs = Caller(f"{PREFIX}{foreign}/", cast.otto.client)
    use_id = theirs.post(BIND, {"parameters": PARAMETERS}).body["id"]
    assert theirs.get(f"artifact-uses/{use_id}/").status == 200
    before = counts()
    for method, path, body in ROUTES[3:]:
        unknown = cast.ana(method, path, body)
        answer = cast.ana(method, path.replace(UNKNOWN, use_id), body)
        assert (answer.status, answer.code) == (404, "artifact_use_not_found")
        assert answer.text.replace(use_id, "") == unknown.text.replace(UNKNOWN, "")
    assert counts() == before


@pytest.mark.parametrize("id", ["use_1", "x" * 200, "rec_" + "0" * 32])
def test_422_for_what_is_no_uses_id(cast: Cast, id: str) -> None:
    for method, path, body in ROUTES[3:]:
        answer = cast.ana(method, path.replace(UNKNOWN, id), body)
        assert (answer.status, answer.code) == (422, "request_schema")


def test_the_order_of_404_410_422_and_dedupe(cast: Cast) -> None:
    use_id = binding(cast.ben).body["id"]
    cast.ben.post(feedback(use_id), {**SAID, "dedupe_key": "once"})
    malformed, conflict = {"kind": "meh"}, {**SAID, "comment": "other", "dedupe_key": "once"}
    before = counts()

    def answers(id: str, body: Any) -> tuple[int, str]:
        answer = cast.ben.post(feedback(id), body)
        return answer.status, answer.code

    assert answers(UNKNOWN, malformed) == (404, "artifact_use_not_found")
    assert answers(use_id, malformed) == (422, "request_schema")
    assert answers(use_id, conflict) == (409, "dedupe_conflict")
    with clock.moved(timedelta(days=91)):
        assert answers(use_id, malformed) == (410, "artifact_use_expired")
        assert answers(use_id, {**SAID, "dedupe_key": "once"}) == (410, "artifact_use_expired")
        read = cast.vera.get(f"artifact-uses/{use_id}/")
        assert (read.status, read.body["expired"]) == (200, True)
    assert counts() == before


def test_422_of_parameters_and_snapshots(cast: Cast) -> None:
    before = counts()
    for parameters in ({"entity": ENTITY}, {**PARAMETERS, "task": 1}, {**PARAMETERS, "more": 1}):
        answer = cast.ben.post(BIND, {"parameters": parameters})
        assert (answer.status, answer.code) == (422, "artifact_parameter")
        assert answer.body["errors"][0]["loc"][0] == "parameters"
    body = {"parameters": {"entity": ENTITY}, "snapshot": True}
    answer = cast.ben.post("catalog/artifacts/maintained_skill/uses/", body)
    assert (answer.status, answer.code) == (422, "artifact_snapshot")
    promote(cast.door, steps="x" * 40_000)
    before = counts()
    answer = binding(cast.ben)
    assert (answer.status, answer.code, answer.body["block"]) == (422, "artifact_block", "skill")
    assert counts() == before


def test_422_where_the_catalog_has_no_signals(cast: Cast) -> None:
    foreign = cast.elsewhere.public_id
    apply(open_workspace(foreign, actor=SYSTEM))
    theirs = Caller(f"{PREFIX}{foreign}/", cast.otto.client)
    bound = theirs.post("catalog/artifacts/skill/uses/", {"parameters": {"entity": ENTITY}})
    before = counts()
    answer = theirs.post(feedback(bound.body["id"]), SAID)
    assert (answer.status, answer.code) == (422, "learning_signals_unavailable")
    assert counts() == before


@pytest.mark.parametrize(
    "body",
    [
        [], "x", {"parameters": []}, {"parameters": PARAMETERS, "snapshot": "yes"},
        {"parameters": PARAMETERS, "name": PROMPT}, {"parameters": PARAMETERS, "content": "x"},
    ],
)  # fmt: skip
def test_422_for_a_body_of_another_form(cast: Cast, body: Any) -> None:
    answer = cast.ben.post(BIND, body)
    assert (answer.status, answer.code) == (422, "request_schema")
    assert not ArtifactUse.objects.exists()


@pytest.mark.parametrize(
    "raw",
    [b"{", b'{"kind": NaN}', b'{"kind": "a", "kind": "b"}', b'{"comment": "\\u0000"}', b"\xff",
     b'{"comment": "\\ud800"}', b"[" * 100_000],
)  # fmt: skip
def test_422_for_what_is_no_json_to_keep(cast: Cast, raw: bytes) -> None:
    use_id = binding(cast.ben).body["id"]
    before = counts()
    answer = cast.ben("POST", feedback(use_id), raw=raw)
    assert (answer.status, answer.code) == (422, "request_schema")
    assert counts() == before


def test_413_and_415_of_feedback(cast: Cast) -> None:
    use_id = binding(cast.ben).body["id"]
    with override_settings(ARTIFACTR={"LIMITS": {"body_bytes": 100}}):
        large = cast.ben("POST", feedback(use_id), raw=b"x" * 101)
    assert (large.status, large.code) == (413, "body_too_large")
    form = cast.ben("POST", feedback(use_id), raw=b"a=b", Content_Type="text/plain")
    assert (form.status, form.code) == (415, "unsupported_media_type")


def test_feedback_takes_no_column(cast: Cast) -> None:
    """The name of every column of ours, beside what may be said."""
    names = {
        field.name
        for model in apps.get_models()
        if model._meta.app_label.startswith("artifactr")
        for field in model._meta.get_fields()
    } - set(Submission.model_fields)
    use_id = binding(cast.ben).body["id"]
    for name in sorted(names):
        answer = cast.ben.post(feedback(use_id), {**SAID, name: "x"})
        assert (answer.status, answer.code) == (422, "request_schema"), name
        assert answer.body["errors"][0]["loc"] == [name]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=9999", "strange=1", "recipe=No", "after=use_x", "head="]
)
def test_422_for_a_query_of_another_form(cast: Cast, query: str) -> None:
    answer = cast.vera.get(f"artifact-uses/?{query}")
    assert (answer.status, answer.code) == (422, "request_schema")


def test_403_for_a_role_that_may_not(cast: Cast) -> None:
    answer = binding(cast.vera)
    assert (answer.status, answer.code) == (403, "forbidden")
    use_id = binding(cast.ben).body["id"]
    root = cast.root.post(feedback(use_id), SAID)
    assert (root.status, root.code) == (403, "forbidden")
    assert cast.root.get(f"artifact-uses/{use_id}/").status == 200


def test_an_evaluator_gives_feedback_and_binds_nothing(cast: Cast) -> None:
    judge = cast.key("reviewer", actor=EvaluatorActor(name="judge", version="3"))
    use_id = binding(cast.ben).body["id"]
    said = {"kind": "evaluation", "source": "evaluator", "score": 0.2, "label": "late"}
    answer = judge.post(feedback(use_id), said)
    assert answer.status == 201
    assert record(cast.door, answer.body["record_id"]).actor.participant == "evaluator:judge@3"
    assert binding(judge).status == 403
