"""Proposals and groups over REST: suggested by one, decided by another."""

from typing import Any

import pytest

from artifacts.core import ExternalAgentActor
from tests.artifacts.rest import Cast, make_cast
from tests.artifacts.routes import routes

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    cast.ben.post("artifacts/", {"artifact_id": "art_1", "kind": "rest_note"})
    return cast


def change(title: str, artifact_id: str = "art_1") -> dict[str, Any]:
    op = {"op": "replace", "path": "/title", "value": title}
    return {
        "type": "edit_artifact",
        "artifact_id": artifact_id,
        "base_version": 1,
        "patch": {"kind": "json_patch", "ops": [op]},
    }


def propose(cast: Cast, title: str, **members: Any) -> str:
    made = cast.ben.post("proposals/", {"change": change(title), **members})
    assert made.status == 201
    assert made.body["type"] == "proposed"
    id: str = made.body["proposal_id"]
    return id


def test_a_proposal_waits_and_is_accepted_with_changes(cast: Cast) -> None:
    id = propose(cast, "Two", rationale="better")
    read = cast.vera.get(f"proposals/{id}/").body
    assert (read["status"], read["rationale"]) == ("pending", "better")
    assert cast.vera.get("artifacts/art_1/").body["data"]["title"] == ""
    changes = {
        "kind": "json_patch",
        "ops": [{"op": "replace", "path": "/title", "value": "Two and a half"}],
    }
    done = cast.ana.post(f"proposals/{id}/respond/", {"decision": "accept", "changes": changes})
    assert done.status == 200
    assert done.body["version"] == 2
    assert cast.vera.get("artifacts/art_1/").body["data"]["title"] == "Two and a half"
    again = cast.ana.post(f"proposals/{id}/respond/", {"decision": "reject"})
    assert (again.status, again.code) == (409, "invalid_state")


def test_nobody_decides_their_own(cast: Cast) -> None:
    made = cast.ana.post("proposals/", {"change": change("Two")})
    id = made.body["proposal_id"]
    answer = cast.ana.post(f"proposals/{id}/respond/", {"decision": "accept"})
    assert (answer.status, answer.code) == (403, "forbidden")


def test_an_agents_key_never_decides(cast: Cast) -> None:
    id = propose(cast, "Two")
    for caller in (cast.client_of("ana"), cast.client_of("vera")):
        answer = caller.post(f"proposals/{id}/respond/", {"decision": "accept"})
        assert (answer.status, answer.code) == (403, "forbidden")
    assert cast.vera.get(f"proposals/{id}/").body["status"] == "pending"


def test_no_agent_decides_by_any_route(cast: Cast) -> None:
    """Every writing route, with a body that decides where there is something to decide."""
    alone, grouped = propose(cast, "Two"), propose(cast, "Three", group_id="grp_1")
    agent = ExternalAgentActor(client_id="cli_1")
    caller = cast.key("admin", actor=agent, scope="tenant")
    commands = [
        {"type": "respond_to_proposal", "proposal_id": alone, "decision": "accept"},
        {"type": "respond_to_proposal", "proposal_id": alone, "decision": "reject"},
        {"type": "resolve_group", "group_id": "grp_1", "decision": "accept"},
    ]
    bodies: list[Any] = [{"decision": decision} for decision in ("accept", "reject")]
    bodies += [{"command": command} for command in commands]
    bodies += [{"commands": [command]} for command in commands]
    for route in routes():
        if route.method == "GET":
            continue
        for proposal_id in (alone, grouped):
            path = route.path(workspace_id="wsp_ours", proposal_id=proposal_id, group_id="grp_1")
            for body in bodies:
                assert caller(route.method, path, body, If_Match='"1"').status >= 400, route
    assert {cast.vera.get(f"proposals/{id}/").body["status"] for id in (alone, grouped)} == {
        "pending"
    }


def test_what_was_on_screen_is_what_is_decided(cast: Cast) -> None:
    id = propose(cast, "Two")
    expect = {"proposal_sha256": "0" * 64}
    answer = cast.ana.post(f"proposals/{id}/respond/", {"decision": "accept", "expect": expect})
    assert answer.status == 409
    read = cast.vera.get(f"proposals/{id}/").body
    assert read["status"] == "pending"
    expect = {"proposal_sha256": read["proposal_sha256"], "head_version": read["base_version"]}
    answer = cast.ana.post(f"proposals/{id}/respond/", {"decision": "accept", "expect": expect})
    assert answer.status == 200


def test_proposals_are_listed_by_status(cast: Cast) -> None:
    first, second = propose(cast, "Two"), propose(cast, "Three")
    cast.ana.post(f"proposals/{first}/respond/", {"decision": "reject", "reason": "no"})

    def listed(query: str) -> list[str]:
        return [each["id"] for each in cast.vera.get(f"proposals/{query}").body["results"]]

    assert listed("") == [first, second]
    assert listed("?status=pending") == [second]
    assert listed("?status=rejected") == [first]
    assert listed(f"?after={first}") == [second]
    assert cast.vera.get("proposals/?status=open").status == 422


def test_a_group_is_decided_at_once(cast: Cast) -> None:
    cast.ben.post("artifacts/", {"artifact_id": "art_2", "kind": "rest_note"})
    ids = [
        cast.ben.post("proposals/", {"change": change("New", artifact), "group_id": "grp_1"}).body[
            "proposal_id"
        ]
        for artifact in ("art_1", "art_2")
    ]
    group = cast.vera.get("groups/grp_1/").body
    assert (group["status"], group["proposal_ids"]) == ("pending", ids)
    alone = cast.ana.post(f"proposals/{ids[0]}/respond/", {"decision": "accept"})
    assert (alone.status, alone.code) == (409, "invalid_state")
    done = cast.ana.post("groups/grp_1/resolve/", {"decision": "accept"})
    assert (done.status, done.body["group_id"]) == (200, "grp_1")
    assert [cast.vera.get(f"artifacts/{id}/").body["version"] for id in ("art_1", "art_2")] == [
        2,
        2,
    ]


def test_feedback_on_a_version(cast: Cast) -> None:
    body = {
        "feedback_type": "rest_rating",
        "target": {"kind": "artifact", "artifact_id": "art_1", "version": 1},
        "value": {"stars": 5},
    }
    assert cast.vera.post("feedback/", body).status == 201
    wrong = cast.vera.post("feedback/", {**body, "value": {"stars": "many"}})
    assert (wrong.status, wrong.code) == (422, "validation_failed")
    [event] = cast.vera.get("events/?last=1").body["results"]
    assert event["event"]["type"] == "feedback_given"


def test_what_belongs_to_another_workspace_is_unknown(cast: Cast) -> None:
    id = propose(cast, "Two", group_id="grp_1")
    there = f"/api/v1/workspaces/{cast.elsewhere.public_id}/"
    for path in (f"proposals/{id}/", "groups/grp_1/"):
        assert cast.ana.get(path).status == 200
        assert cast.otto.get(there + path).status == 404
    answer = cast.otto.post(f"{there}proposals/{id}/respond/", {"decision": "accept"})
    assert (answer.status, answer.code) == (404, "not_found")
    assert cast.otto.get(f"{there}proposals/").body["results"] == []
