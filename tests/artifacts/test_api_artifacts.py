"""Artifacts over REST: reads with ETags, writes as sugar over the commands."""

from typing import Any

import pytest

from tests.artifacts.rest import Answer, Cast, make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def created(cast: Cast, **data: Any) -> str:
    made = cast.ben.post("artifacts/", {"kind": "rest_note", "data": data})
    assert made.status == 201
    assert made.headers["ETag"] == '"1"'
    id: str = made.body["artifact_id"]
    return id


def retitle(title: str) -> dict[str, Any]:
    return {
        "patch": {
            "kind": "json_patch",
            "ops": [{"op": "replace", "path": "/title", "value": title}],
        }
    }


def edit(cast: Cast, id: str, title: str, tag: str) -> Answer:
    return cast.ben("PATCH", f"artifacts/{id}/", retitle(title), If_Match=tag)


def test_an_artifact_is_created_read_changed_reverted_and_archived(cast: Cast) -> None:
    id = created(cast, title="One")
    read = cast.vera.get(f"artifacts/{id}/")
    assert read.headers["ETag"] == '"1"'
    assert read.body["data"] == {"text": "", "title": "One", "tags": []}

    changed = edit(cast, id, "Two", '"1"')
    assert changed.status == 200
    assert changed.headers["ETag"] == '"2"'
    assert changed.body == {"type": "applied", "artifact_id": id, "version": 2, "seq": 2}

    put = cast.ben(
        "PUT",
        f"artifacts/{id}/",
        {"kind": "rest_note", "data": {"title": "Three"}, "base_version": 2},
    )
    assert put.body["version"] == 3
    back = cast.ana.post(f"artifacts/{id}/revert/", {"base_version": 3, "to_version": 1})
    assert back.body["version"] == 4
    gone = cast.ben("DELETE", f"artifacts/{id}/", If_Match='"4"')
    assert (gone.status, gone.body["version"]) == (200, 5)
    assert cast.vera.get(f"artifacts/{id}/").body["archived"] is True
    assert cast.vera.get("artifacts/").body["results"] == []
    [archived] = cast.vera.get("artifacts/?archived=true").body["results"]
    assert archived["id"] == id

    versions = cast.vera.get(f"artifacts/{id}/revisions/").body["results"]
    assert [each["version"] for each in versions] == [1, 2, 3, 4, 5]
    one = cast.vera.get(f"artifacts/{id}/revisions/2/").body
    assert one == versions[1]
    assert one["data"]["title"] == "Two"
    written = cast.vera.get(f"change-sets/{one['change_set_id']}/").body
    assert written["origin"] == "command"
    assert written["revisions"] == [one]


def test_a_stale_if_match_is_412_with_what_changed_since(cast: Cast) -> None:
    id = created(cast)
    assert edit(cast, id, "Two", '"1"').status == 200
    stale = edit(cast, id, "Three", '"1"')
    assert (stale.status, stale.code) == (412, "version_conflict")
    assert (stale.body["artifact_id"], stale.body["base"], stale.body["head"]) == (id, 1, 2)
    assert [change["version"] for change in stale.body["changes"]] == [2]
    gone = cast.ben("DELETE", f"artifacts/{id}/", If_Match='"1"')
    assert (gone.status, gone.code) == (412, "version_conflict")
    assert cast.door.head_seq() == 2


def test_a_stale_version_in_a_body_is_409(cast: Cast) -> None:
    id = created(cast)
    edit(cast, id, "Two", '"1"')
    body = {"kind": "rest_note", "data": {}, "base_version": 1}
    stale = cast.ben("PUT", f"artifacts/{id}/", body)
    assert (stale.status, stale.code) == (409, "version_conflict")


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_missing_if_match_is_428(cast: Cast, method: str) -> None:
    id = created(cast)
    answer = cast.ben(method, f"artifacts/{id}/", retitle("x"))
    assert (answer.status, answer.code) == (428, "precondition_required")


@pytest.mark.parametrize(
    "tag", ["1", '"one"', '"0"', '"-1"', "*", 'W/"1"', '"1", "2"', '"' + "9" * 30 + '"']
)
def test_an_if_match_that_is_no_version_is_refused(cast: Cast, tag: str) -> None:
    id = created(cast)
    answer = edit(cast, id, "Two", tag)
    assert (answer.status, answer.code) == (422, "validation_failed")
    assert answer.body["errors"][0]["loc"] == ["If-Match"]


def test_a_version_that_cannot_exist_is_unknown(cast: Cast) -> None:
    id = created(cast)
    for version in ("0", "2", "9" * 12, "9" * 30):
        assert cast.vera.get(f"artifacts/{id}/revisions/{version}/").status == 404


def test_the_whole_value_may_be_the_first(cast: Cast) -> None:
    body = {"kind": "rest_note", "data": {"title": "New"}, "base_version": 0}
    assert cast.ben("PUT", "artifacts/art_new/", body).body["version"] == 1
    again = cast.ben("PUT", "artifacts/art_new/", body)
    assert (again.status, again.code) == (409, "version_conflict")


def test_an_agents_change_of_a_kind_for_people_is_202(cast: Cast) -> None:
    made = cast.client_of("ben").post("artifacts/", {"kind": "rest_policy"})
    assert made.status == 202
    assert made.body["type"] == "proposed"
    assert cast.vera.get("artifacts/").body["results"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "member"),
    [
        ("PATCH", "artifacts/{id}/", {**retitle("x"), "artifact_id": "art_other"}, "artifact_id"),
        ("PATCH", "artifacts/{id}/", {**retitle("x"), "base_version": 1}, "base_version"),
        ("PUT", "artifacts/{id}/", {"artifact_id": "art_other"}, "artifact_id"),
        ("POST", "artifacts/{id}/revert/", {"artifact_id": "art_other"}, "artifact_id"),
    ],
)
def test_what_the_route_gives_no_body_gives(
    cast: Cast, method: str, path: str, body: dict[str, Any], member: str
) -> None:
    answer = cast.ana(method, path.format(id=created(cast)), body, If_Match='"1"')
    assert (answer.status, answer.code) == (422, "validation_failed")
    assert [error["loc"] for error in answer.body["errors"]] == [[member]]


def test_lists_are_pages_that_follow_each_other(cast: Cast) -> None:
    ids = [created(cast, title=str(number)) for number in range(5)]
    seen, path = [], f"{cast.base}artifacts/?limit=2"
    sizes = []
    while path:
        answer = cast.vera.get(path)
        sizes.append(len(answer.body["results"]))
        seen += [each["id"] for each in answer.body["results"]]
        path = answer.body["next"] and answer.body["next"].removeprefix("http://testserver")
    assert seen == ids
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize(
    ("query", "loc"),
    [
        ("limit=0", ["query", "limit"]),
        ("limit=x", ["query", "limit"]),
        ("limit=501", ["limit"]),
        ("limit=1&limit=2", ["query", "limit"]),
        ("after=art_none", ["after"]),
        ("after=%00", ["query", "after"]),
        ("kind=a%2Fb", ["query", "kind"]),
        ("colour=red", ["query", "colour"]),
    ],
)
def test_a_wrong_query_names_its_parameter(cast: Cast, query: str, loc: list[str]) -> None:
    answer = cast.vera.get(f"artifacts/?{query}")
    assert (answer.status, answer.code) == (422, "validation_failed")
    assert answer.body["errors"][0]["loc"] == loc


def test_lists_are_filtered(cast: Cast) -> None:
    note = created(cast)
    cast.ben.post("artifacts/", {"kind": "rest_policy"})
    [found] = cast.vera.get("artifacts/?kind=rest_note").body["results"]
    assert found["id"] == note


def test_what_belongs_to_another_workspace_is_unknown(cast: Cast) -> None:
    id = created(cast)
    there = f"/api/v1/workspaces/{cast.elsewhere.public_id}/"
    for path in (f"artifacts/{id}/", f"artifacts/{id}/revisions/", f"artifacts/{id}/revisions/1/"):
        assert cast.otto.get(there + path).status == 404
    change_set = cast.ana.get(f"artifacts/{id}/revisions/1/").body["change_set_id"]
    assert cast.ana.get(f"change-sets/{change_set}/").status == 200
    assert cast.otto.get(f"{there}change-sets/{change_set}/").status == 404
    assert cast.otto("PATCH", f"{there}artifacts/{id}/", retitle("x"), If_Match='"1"').status == 404
