"""Catalog and records over REST: the same doors, codes of their own, walls on every route."""

from __future__ import annotations

from typing import Any

import pytest

from artifacts.core import ExternalAgentActor
from artifacts.workspace import open_workspace
from learning.models import Definition, Record
from learning.services.records import ingest
from tests.artifacts.rest import Caller, Cast, make_cast
from tests.learning.catalogs import apply, catalog, files
from tests.support.asked import asked

pytestmark = pytest.mark.django_db
SERVER = "http://testserver"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def admin(cast: Cast) -> Caller:
    return cast.key("admin")


@pytest.fixture
def applied(cast: Cast) -> Cast:
    apply(cast.door)
    return cast


def outcome(**members: Any) -> dict[str, Any]:
    return {"collection": "outcomes", "entity": "agent:ada", "type": "outcome", "text": "word",
            **members}  # fmt: skip


def send(caller: Caller, *records: Any) -> Any:
    return caller.post("records/", {"records": list(records)})


def test_a_bundle_is_applied(admin: Caller) -> None:
    checked = admin.post("catalog/", {"files": files(catalog()), "check": True})
    assert (checked.status, len(checked.body["created"])) == (200, 9)
    assert not Definition.objects.exists()
    answer = admin.post("catalog/", {"files": files(catalog())})
    assert (answer.status, answer.body) == (200, checked.body)
    again = admin.post("catalog/", {"files": files(catalog())})
    assert (again.body["created"], len(again.body["unchanged"])) == ([], 9)


def test_all_problems_are_told(admin: Caller) -> None:
    changed = catalog()
    changed["artifacts"][0]["learning"] = {"target_block": "history", "artifact": "skill"}
    changed["views"][0]["limit"] = 0
    answer = admin.post("catalog/", {"files": files(changed)})
    assert (answer.status, answer.code) == (422, "catalog_invalid")
    assert {each["rule"] for each in answer.body["problems"]} == {
        "learning_block_view", "learning_block_optional", "learning_artifact_inexact", "form",
    }  # fmt: skip
    for problem in answer.body["problems"]:
        assert problem["file"].endswith("all.yaml")
        assert problem["line"] > 1
        assert problem["message"]
    assert not Definition.objects.exists()


@pytest.mark.parametrize("person", ["ana", "ben", "vera", "root"])
def test_who_may_not_apply(cast: Cast, person: str) -> None:
    answer = getattr(cast, person).post("catalog/", {"files": files(catalog())})
    assert (answer.status, answer.code) == (403, "forbidden")
    assert not Definition.objects.exists()


@pytest.mark.parametrize(
    "body",
    [{}, {"files": []}, {"files": {"package.yaml": 1}}, {"files": {}, "check": "yes"},
     {"files": {}, "more": 1}, {"files": {"x" * 201: ""}}],
)  # fmt: skip
def test_a_bundle_of_another_form_is_refused(admin: Caller, body: Any) -> None:
    answer = admin.post("catalog/", body)
    assert (answer.status, answer.code) == (422, "request_schema")


@pytest.mark.parametrize("name", ["\ud800.yaml", "a\0b.yaml"])
def test_odd_names_of_files(admin: Caller, name: str) -> None:
    answer = admin.post("catalog/", {"files": {name: "x"}})
    assert answer.status == 422


def test_definitions_are_read(applied: Cast) -> None:
    answer = applied.vera.get("catalog/artifacts/prompt/")
    assert answer.status == 200
    assert answer.body["body"]["learning"]["artifact"] == "skill@1"
    assert (answer.body["active"], answer.body["versions"]) == (True, [1])
    same = applied.vera.get("catalog/artifacts/prompt/versions/1/")
    assert same.body == answer.body
    page = applied.vera.get("catalog/?type=view&active=true")
    [view] = page.body["results"]
    assert (view["name"], view["version"], page.body["next"]) == ("recent", 1, None)
    first = applied.vera.get("catalog/?limit=4")
    rest = applied.vera.get(first.body["next"].removeprefix(SERVER))
    assert len(first.body["results"]) == len(rest.body["results"]) == 4
    assert applied.vera.get("catalog/packages/desk/").body["body"]["views"] == ["recent@1"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("catalog/artifacts/none/", "artifact_not_found"),
        ("catalog/artifacts/prompt/versions/2/", "artifact_not_found"),
        ("catalog/views/none/", "not_found"),
        ("catalog/nothing/none/", "not_found"),
        ("records/rec_none/", "not_found"),
    ],
)
def test_what_is_not_there(applied: Cast, path: str, code: str) -> None:
    answer = applied.vera.get(path)
    assert (answer.status, answer.code) == (404, code)


def test_records_are_taken_in_and_read(applied: Cast) -> None:
    answer = send(applied.ben, outcome(dedupe_key="k", content={"score": 0.5}), outcome())
    assert answer.status == 201
    first, second = answer.body["results"]
    assert (first["duplicate"], second["duplicate"]) == (False, False)
    read = applied.vera.get(f"records/{first['record_id']}/")
    assert (read.status, read.body["text"], read.body["seq"]) == (200, "word", 1)
    assert read.body["fields"] == {"score": 0.5}
    again = send(applied.ben, outcome(dedupe_key="k", content={"score": 0.5}))
    assert (again.status, again.body["results"]) == (
        200, [{"record_id": first["record_id"], "duplicate": True}],
    )  # fmt: skip
    other = send(applied.ben, outcome(), outcome(dedupe_key="k", text="other"))
    assert (other.status, other.code, other.body["index"]) == (409, "dedupe_conflict", 1)
    assert Record.objects.count() == 2


def test_an_agents_keyed_record_waits(applied: Cast) -> None:
    agent = applied.key("editor", actor=ExternalAgentActor(client_id="cli"))
    value = {"collection": "skills", "entity": "agent:ada", "key": "steps", "text": "x"}
    [taken] = send(agent, value).body["results"]
    assert set(taken) == {"proposal_id", "duplicate"}
    key = applied.key("editor")
    [taken] = send(key, value).body["results"]
    assert applied.vera.get(f"records/{taken['record_id']}/").body["actor"] == {
        "kind": "system", "name": "key/editor",
    }  # fmt: skip


def test_lists_and_search(applied: Cast) -> None:
    send(applied.ben, *(outcome(text=f"word {n}", content={"score": n / 10}) for n in range(5)))
    page = applied.vera.get(
        "records/?collection=outcomes&where=score%3E0.1&sort=-score&limit=2"
    ).body
    assert [each["text"] for each in page["results"]] == ["word 4", "word 3"]
    rest = applied.vera.get(page["next"].removeprefix(SERVER)).body
    assert ([each["text"] for each in rest["results"]], rest["next"]) == (["word 2"], None)
    hits = applied.vera.get("records/search/?q=word+3&collection=outcomes").body["results"]
    assert [each["text"] for each in hits] == ["word 3"]


@pytest.mark.parametrize(
    "path",
    ["records/?where=score%3E1", "records/?sort=text", "records/?more=1", "records/?limit=0",
     "records/?limit=501", "records/?after=rec_none", "records/?status=half", "records/search/",
     "records/search/?q=" + "x" * 1001, "records/?entity=%00", "records/?limit=1&limit=2"],
)  # fmt: skip
def test_an_odd_question_is_refused(applied: Cast, path: str) -> None:
    answer = applied.vera.get(path)
    assert (answer.status, answer.code) == (422, "request_schema")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ('{"records": [{"collection": "outcomes"}]}', "request_schema"),
        ('{"records": {}}', "request_schema"),
        ('{"records": [1]}', "request_schema"),
        ('{"records": []}', "request_schema"),
        ('{"record": []}', "request_schema"),
        ("[]", "validation_failed"),
        ("{", "validation_failed"),
        ('{"records": [], "records": []}', "validation_failed"),
        ('{"records": [NaN]}', "validation_failed"),
        ('{"records": ' + "[" * 50 + "]" * 50 + "}", "validation_failed"),
    ],
)
def test_an_odd_body_is_refused(applied: Cast, raw: str, code: str) -> None:
    answer = applied.ben("POST", "records/", raw=raw.encode())
    assert (answer.status, answer.code) == (422, code)
    assert not Record.objects.exists()


def test_mass_assignment(applied: Cast) -> None:
    """No column of a row can be set by naming it."""
    columns = {field.name for field in Record._meta.get_fields()}
    for name in sorted(columns - {"collection", "entity", "type", "key", "text", "content"}):
        answer = send(applied.ben, outcome(**{name: 1}))
        assert (answer.status, answer.code) == (422, "request_schema"), name


def test_roles_of_the_records(applied: Cast) -> None:
    assert send(applied.vera, outcome()).code == "forbidden"
    assert send(applied.root, outcome()).code == "forbidden"
    assert send(applied.ana, outcome()).status == 201
    assert applied.root.get("records/").status == 200


PATHS = [
    "catalog/", "catalog/artifacts/prompt/", "catalog/artifacts/prompt/versions/1/", "records/",
    "records/search/?q=x",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_foreign_workspaces_are_unknown(applied: Cast, path: str) -> None:
    for caller, expected in (
        (applied.otto, "not_found"), (applied.stranger, "not_found"),
        (applied.nobody, "unauthorized"),
    ):  # fmt: skip
        assert caller.get(path).code == expected


def test_a_foreign_record_reads_as_an_unknown_one(applied: Cast) -> None:
    theirs = open_workspace(applied.elsewhere.public_id, actor=applied.door.actor)
    apply(theirs)
    [taken] = ingest(theirs, [outcome()])
    unknown = applied.vera.get("records/rec_unknown/").body
    foreign = applied.vera.get(f"records/{taken.record_id}/").body
    assert {**foreign, "id": "rec_unknown"} == unknown


# Session, user, membership, workspace: what every request of a signed-in person asks first.
OPENING = 4


def statements(cast: Cast, path: str) -> int:
    with asked() as found:
        assert cast.vera.get(path).status == 200
    return len(found)


def test_requests_cost_the_same_at_any_size(applied: Cast) -> None:
    counts = []
    for size in (10, 90):
        send(applied.ben, *(outcome(text=f"word {n}", content={"score": n}) for n in range(size)))
        counts.append(
            [
                statements(applied, path)
                for path in (
                    "records/?limit=500",
                    "records/?collection=outcomes&where=score%3E0&sort=score&limit=500",
                    "records/search/?q=word&limit=500",
                    "catalog/?limit=500",
                    "catalog/artifacts/prompt/",
                )
            ]
        )
    assert counts[0] == counts[1] == [OPENING + n for n in (3, 5, 3, 1, 1)]
