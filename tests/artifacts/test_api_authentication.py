"""Who gets in: 401 without a credential, 404 where it does not reach, 403 where it may not."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.http import HttpRequest
from django.test import Client, override_settings

from artifacts import clock, keys
from artifacts.access import READS, ROLE_TABLE, ROLES, Access
from artifacts.core import (
    AgentActor,
    ConfigurationError,
    SystemActor,
    UserActor,
    ValidationFailed,
)
from artifacts.models import ApiKey, Membership
from artifacts.surfaces.authentication import Principal
from tests.artifacts.rest import PREFIX, Caller, Cast, make_cast
from tests.artifacts.routes import Route, routes, streams

pytestmark = pytest.mark.django_db
ROUTES = routes()
WRITES = [route for route in ROUTES if route.method != "GET"]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_the_routes_were_found() -> None:
    assert len(ROUTES) >= 30
    assert {route.method for route in ROUTES} == {"GET", "POST", "PUT", "PATCH", "DELETE"}


@pytest.mark.parametrize(
    "credential",
    [
        "",
        "Bearer",
        "Bearer ak_00000000." + "A" * 43,
        "Bearer nonsense",
        "Basic YTpi",
        "Bearer \x00",
    ],
    ids=["none", "empty", "unknown", "odd", "basic", "nul"],
)
def test_no_or_a_wrong_credential_is_401(cast: Cast, credential: str) -> None:
    headers = {"Authorization": credential} if credential else {}
    for route in [*ROUTES, *streams()]:
        path = route.path(workspace_id=cast.workspace.public_id)
        answer = cast.nobody(route.method, path, {}, **headers)
        assert (answer.status, answer.code) == (401, "unauthorized"), route
        assert answer.headers["WWW-Authenticate"].startswith("Bearer"), route


def test_401_comes_before_everything_else(cast: Cast) -> None:
    for route in [*ROUTES, *streams()]:
        path = route.path(workspace_id="wsp_unknown") + "?unknown=1"
        for method, headers in [
            (route.method, {"Accept": "text/turtle"}),
            ("TRACE", {}),
            (route.method, {"Content_Type": "text/turtle"}),
        ]:
            assert cast.nobody(method, path, raw=b"{", **headers).status == 401, route


def test_out_of_reach_is_as_unknown(cast: Cast) -> None:
    callers = [
        (cast.ana, "wsp_theirs"),
        (cast.otto, "wsp_ours"),
        (cast.stranger, "wsp_ours"),
        (cast.key("admin"), "wsp_theirs"),
        (cast.key("admin", scope="tenant"), "wsp_theirs"),
    ]
    for route in [each for each in ROUTES if each.is_in_workspace]:
        unknown = out_of_reach(cast.ana, route, "wsp_unknown")
        for caller, workspace_id in callers:
            assert out_of_reach(caller, route, workspace_id) == unknown, route


def out_of_reach(caller: Caller, route: Route, workspace_id: str) -> str:
    answer = caller(route.method, route.path(workspace_id=workspace_id), {})
    assert (answer.status, answer.code) == (404, "not_found"), route
    return answer.text.replace(workspace_id, "…")


@pytest.mark.parametrize("id", ["%00", "x" * 129, "a%00b", "%ff"])
def test_what_can_be_no_id_is_unknown(cast: Cast, id: str) -> None:
    assert cast.ana.get(f"{PREFIX}{id}/artifacts/").status == 404
    assert cast.ana.get(f"artifacts/{id}/").status == 404
    assert cast.ana.get(f"proposals/{id}/").status == 404


def test_a_key_for_one_workspace_opens_no_other(cast: Cast) -> None:
    second = type(cast.workspace).objects.create(tenant=cast.tenant, name="Second")
    path = f"{PREFIX}{second.public_id}/"
    assert cast.key("viewer").get(path).status == 404
    assert cast.key("viewer", scope="tenant").get(path).status == 200


def test_the_list_of_workspaces_is_what_a_credential_reaches(cast: Cast) -> None:
    second = type(cast.workspace).objects.create(
        tenant=cast.tenant, name="Second", public_id="wsp_second"
    )
    listed = {
        name: [each["id"] for each in caller.get("/api/v1/workspaces/").body["results"]]
        for name, caller in {
            "ana": cast.ana,
            "otto": cast.otto,
            "root": cast.root,
            "key": cast.key("viewer"),
            "tenant": cast.key("viewer", scope="tenant"),
        }.items()
    }
    assert listed == {
        "ana": ["wsp_ours"],
        "otto": ["wsp_theirs"],
        "root": ["wsp_ours", "wsp_theirs", second.public_id],
        "key": ["wsp_ours"],
        "tenant": ["wsp_ours", second.public_id],
    }
    assert cast.ana.get("/api/v1/workspaces/").body["results"][0]["role"] == "reviewer"
    assert "role" not in cast.root.get("/api/v1/workspaces/").body["results"][0]


@pytest.mark.parametrize("change", [{"revoked_at": clock.now()}, {"expires_at": clock.now()}])
def test_a_key_that_is_over_opens_nothing(cast: Cast, change: dict[str, Any]) -> None:
    caller = cast.key("viewer")
    assert caller.get().status == 200
    ApiKey.objects.update(**change)
    assert caller.get().status == 401


def test_a_keys_secret_is_not_kept(cast: Cast) -> None:
    _, text = keys.create_key(
        tenant=cast.tenant, workspace=None, name="k", role="viewer", actor=SystemActor()
    )
    secret = text.partition(".")[2]
    assert not any(secret in str(value) for value in ApiKey.objects.values_list()[0])
    assert keys.find_key(text) is not None
    assert keys.find_key(text[:-1] + ("A" if text[-1] != "A" else "B")) is None


def test_the_use_of_a_key_is_noted_at_most_each_minute(cast: Cast) -> None:
    caller = cast.key("viewer")
    seen: list[Any] = []
    for seconds in (0, 30, 61):
        with clock.moved(timedelta(seconds=seconds)):
            assert caller.get().status == 200
            seen.append(ApiKey.objects.get().last_used_at)
    assert seen[0] == seen[1] < seen[2]


def test_a_key_acts_as_its_actor(cast: Cast) -> None:
    made = cast.key("editor").post("artifacts/", {"kind": "rest_note"})
    assert made.status == 201
    artifact = cast.ana.get(f"artifacts/{made.body['artifact_id']}/").body
    assert artifact["updated_by"] == {"kind": "system", "name": "key/editor"}


def test_the_agent_of_a_thread_has_no_key(cast: Cast) -> None:
    with pytest.raises(ValidationFailed, match="agent of a thread"):
        cast.key("editor", actor=AgentActor(thread_id="thr_1"))


@pytest.mark.parametrize("role", ROLES)
def test_a_refusal_of_the_role_is_403(cast: Cast, role: str) -> None:
    """Every command and read, against the table; what is allowed may fail for another reason."""
    Membership.objects.filter(user__username="ana").update(role=role)
    for type_, command in COMMANDS.items():
        answer = cast.ana.command(command)
        may = Access(actor=SystemActor(), role=role).allows(type_)
        assert (answer.status == 403) == (not may), (type_, answer.text)
        if not may:
            assert answer.body["rejection"]["type"] == "forbidden"
    for route in ROUTES:
        if route.method == "GET":
            path = route.path(workspace_id=cast.workspace.public_id)
            # 422: a search without words, an id of the wrong form.
            assert cast.ana.get(path).status in (200, 404, 422)


COMMANDS: dict[str, dict[str, Any]] = {
    "create_artifact": {"kind": "rest_note"},
    "edit_artifact": {
        "artifact_id": "art_none", "base_version": 1, "patch": {"kind": "json_patch", "ops": []},
    },
    "archive_artifact": {"artifact_id": "art_none", "base_version": 1},
    "put_artifact": {"artifact_id": "art_put", "kind": "rest_note", "data": {}, "base_version": 0},
    "revert_artifact": {"artifact_id": "art_none", "base_version": 2, "to_version": 1},
    "propose_change": {"change": {"type": "create_artifact", "kind": "rest_note"}},
    "respond_to_proposal": {"proposal_id": "prp_none", "decision": "accept"},
    "resolve_group": {"group_id": "grp_none", "decision": "accept"},
    "create_thread": {"title": "t"},
    "post_message": {"thread_id": "thr_none", "content": "c"},
    "set_focus": {"thread_id": "thr_none", "artifact_ids": []},
    "set_thread_mode": {"thread_id": "thr_none", "mode": "edit"},
    "answer_question": {"type": "answer_deferred", "run_id": "r", "tool_call_id": "c", "answer": 1},
    "stop_run": {"run_id": "r"},
    "answer_approval": {
        "type": "answer_deferred", "run_id": "r", "tool_call_id": "c", "approved": True,
    },
    "give_feedback": {
        "feedback_type": "rest_rating", "target": {"kind": "thread", "thread_id": "thr_none"},
        "value": {"stars": 1},
    },
}  # fmt: skip
COMMANDS = {name: {"type": name, **members} for name, members in COMMANDS.items()}


def test_every_command_of_the_table_was_tried() -> None:
    verbs = {
        "stop_any_run", "manage_members", "manage_keys", "apply_catalog", "ingest", "bind",
        "route_signal",
    }  # fmt: skip
    assert set(COMMANDS) == set(ROLE_TABLE) - READS - verbs


def test_a_superuser_reads_all_and_changes_nothing(cast: Cast) -> None:
    assert cast.root.get("artifacts/").status == 200
    assert cast.root.get("events/").status == 200
    for command in COMMANDS.values():
        assert cast.root.command(command).status == 403
    user = get_user_model().objects.get(username="root")
    Membership.objects.create(workspace=cast.workspace, user=user, role="reviewer")
    assert cast.root.command(COMMANDS["create_artifact"]).status == 200


def test_a_session_proves_its_origin_on_every_write(cast: Cast) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(get_user_model().objects.get(username="ana"))
    caller = Caller(cast.base, strict)
    for route in WRITES:
        path = route.path(workspace_id=cast.workspace.public_id)
        strict.cookies.pop("csrftoken", None)
        refused = caller(route.method, path, {})
        assert (refused.status, refused.code) == (403, "forbidden"), route
        strict.cookies["csrftoken"] = token = "a" * 32
        assert caller(route.method, path, {}, X_CSRFToken=token).status != 403, route


def test_a_key_needs_no_csrf_token(cast: Cast) -> None:
    caller = cast.key("editor")
    caller.client = Client(enforce_csrf_checks=True)
    assert caller.post("artifacts/", {"kind": "rest_note"}).status == 201


def by_header(source: Any) -> Principal | None:
    assert isinstance(source, HttpRequest)
    name = source.headers.get("X-Person")
    if name is None:
        return None
    return Principal(actor=UserActor(id=name), tenant_id=source.headers["X-Tenant"], role="editor")


def test_a_role_without_a_tenant_would_reach_everything() -> None:
    with pytest.raises(ConfigurationError, match="tenant"):
        Principal(actor=UserActor(id="x"), role="editor")


def test_the_host_may_say_who_calls(cast: Cast) -> None:
    here = {"X_Person": "p1", "X_Tenant": cast.tenant.public_id}
    with override_settings(ARTIFACTR={"RESOLVE_ACTOR": f"{__name__}.by_header"}):
        assert cast.nobody.get().status == 401
        assert cast.ana.get().status == 401
        assert cast.key("admin").get().status == 401
        made = cast.nobody.post("artifacts/", {"kind": "rest_note"}, **here)
        assert made.status == 201
        there = {**here, "X_Tenant": cast.elsewhere.tenant.public_id}
        assert cast.nobody.get(**there).status == 404
    artifact = cast.ana.get(f"artifacts/{made.body['artifact_id']}/")
    assert artifact.body["updated_by"] == {"kind": "user", "id": "p1"}


def named_otherwise(user: Any) -> UserActor:
    return UserActor(id=f"staff-{user.pk}")


def test_the_host_may_say_how_a_user_stands_in_the_log(cast: Cast) -> None:
    with override_settings(ARTIFACTR={"ACTOR_FOR_USER": f"{__name__}.named_otherwise"}):
        made = cast.ana.post("artifacts/", {"kind": "rest_note"})
    actor = cast.ana.get(f"artifacts/{made.body['artifact_id']}/").body["updated_by"]
    assert actor["id"].startswith("staff-")


def no_creating(actor: Any, workspace: Any, action: str, target: Any) -> bool:
    assert workspace.id == "wsp_ours"
    return action not in ("create_artifact", "read_events", "read_workspace")


@override_settings(ARTIFACTR={"AUTHORIZE": f"{__name__}.no_creating"})
def test_the_host_may_refuse_more(cast: Cast) -> None:
    refused = cast.ana.post("artifacts/", {"kind": "rest_note"})
    assert (refused.status, refused.code) == (403, "forbidden")
    assert cast.ana.get("events/").status == 403
    assert cast.ana.get("artifacts/").status == 200
    assert cast.ana.get("/api/v1/workspaces/").body["results"] == []
    assert cast.door.head_seq() == 0


def made_key(*args: str) -> str:
    out = StringIO()
    call_command("create_api_key", *args, stdout=out)
    return out.getvalue().strip()


def test_a_key_is_made_on_the_command_line(cast: Cast) -> None:
    actor = {"kind": "external_agent", "client_id": "bot"}
    text = made_key(
        "wsp_ours", "--role=editor", "--name=bot", f"--actor={json.dumps(actor)}",
        "--expires-days=3",
    )  # fmt: skip
    key = ApiKey.objects.get()
    assert json.loads(key.actor) == actor
    assert key.expires_at is not None
    assert key.expires_at > clock.now() + timedelta(days=2)
    assert keys.find_key(text) == key
    for_tenant = made_key(f"--tenant={cast.tenant.public_id}", "--role=viewer", "--name=all")
    found = keys.find_key(for_tenant)
    assert found is not None
    assert found.workspace is None
    assert json.loads(found.actor) == {"kind": "system", "name": "key/all"}


@pytest.mark.parametrize(
    "args",
    [
        ("--role=editor", "--name=n"),
        ("wsp_none", "--role=editor", "--name=n"),
        ("wsp_ours", "--tenant=t", "--role=editor", "--name=n"),
        ("--tenant=none", "--role=editor", "--name=n"),
        ("wsp_ours", "--role=owner", "--name=n"),
        ("wsp_ours", "--role=editor", "--name=n", "--actor={}"),
        ("wsp_ours", "--role=editor", "--name=n", '--actor={"kind":"agent","thread_id":"t"}'),
        ("wsp_ours", "--role=editor", "--name=n", "--expires-days=0"),
        ("wsp_ours", "--role=editor", "--name=" + "n" * 101),
    ],
)
def test_no_key_is_made_of_wrong_arguments(cast: Cast, args: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        made_key(*args)
    assert not ApiKey.objects.exists()
