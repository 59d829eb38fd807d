"""Bad input on every writing route: a clear 4xx that names the field, and nothing stored."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import pytest
from django.apps import apps
from django.test import override_settings

from artifacts.core.commands import (
    AnswerDeferred,
    AnyCommand,
    CreateArtifact,
    CreateThread,
    EditArtifact,
    GiveFeedback,
    PostMessage,
    ProposeChange,
    PutArtifact,
    ResolveGroup,
    RespondToProposal,
    RevertArtifact,
    SetFocus,
    SetThreadMode,
    StopRun,
)
from artifacts.models import Event
from feedback.models import ArtifactUse
from feedback.services.signals import Submission
from feedback.services.uses import bind
from learning.models import Record
from learning.services.catalog import apply_catalog, files_of_package
from tests.artifacts.rest import Answer, Cast, make_cast
from tests.artifacts.routes import Route, routes

pytestmark = pytest.mark.django_db
WRITES = [route for route in routes() if route.method in ("POST", "PUT", "PATCH")]
DEEP = b'{"kind":' + b"[" * 40 + b"]" * 40 + b"}"
VERY_DEEP = b"[" * 200_000
ODD_BODIES = {
    "empty": b"",
    "no_json": b"{kind: 1}",
    "no_object": b"[1]",
    "no_utf8": b'{"kind": "\xff"}',
    "nul": b'{"kind": "\\u0000"}',
    "nul_name": b'{"\\u0000": 1}',
    "surrogate": b'{"kind": "\\ud800"}',
    "nan": b'{"kind": NaN}',
    "infinity": b'{"kind": -Infinity}',
    "huge_int": b'{"kind": ' + b"9" * 5000 + b"}",
    "big_int": b'{"kind": 9223372036854775808}',
    "twice": b'{"kind": "a", "kind": "b"}',
    "deep": DEEP,
    "very_deep": VERY_DEEP,
    "many": b'{"kind": [' + b"1," * 50_001 + b"1]}",
}
# The route says it all.
MAY_BE_EMPTY = {"stop", "bind", "render"}


@pytest.fixture
def cast() -> Cast:
    """With a recipe in force, so that what is looked for before a body is read can be there."""
    cast = make_cast()
    apply_catalog(cast.door, files_of_package("skills"))
    return cast


@pytest.fixture
def use_id(cast: Cast) -> str:
    """A use, which feedback looks for before it looks at its body."""
    return bind(cast.door, "daily_agent_prompt", {"entity": "agent:ada", "task": "x"}).id


def path_of(route: Route, cast: Cast, use_id: str) -> str:
    return route.path(workspace_id=cast.workspace.public_id, use_id=use_id)


def is_untouched() -> bool:
    """Whether nothing was stored: no event, no record, no further use."""
    return (
        not (Event.objects.exists() or Record.objects.exists()) and ArtifactUse.objects.count() < 2
    )


@pytest.mark.parametrize("name", ODD_BODIES)
def test_an_odd_body_is_refused(cast: Cast, use_id: str, name: str) -> None:
    for route in WRITES:
        if name == "empty" and route.name in MAY_BE_EMPTY:
            continue
        path = path_of(route, cast, use_id)
        answer = cast.ana(route.method, path, raw=ODD_BODIES[name], If_Match='"1"')
        assert answer.status == 422, route
        problem = answer.body.get("rejection", answer.body)
        assert problem.get("code", problem["type"]) in {"validation_failed", "request_schema"}, (
            route
        )
        assert problem["errors"], route
    assert is_untouched()


def test_a_body_over_the_limit_is_413(cast: Cast, use_id: str) -> None:
    for route in WRITES:
        path = path_of(route, cast, use_id)
        with override_settings(ARTIFACTR={"LIMITS": {"body_bytes": 100}}):
            answer = cast.ana(route.method, path, raw=b"x" * 101, If_Match='"1"')
        assert (answer.status, answer.code) == (413, "body_too_large"), route
        assert "100 bytes (body_bytes)" in answer.body["detail"]


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_only_json_is_taken(cast: Cast, use_id: str, media: str) -> None:
    for route in WRITES:
        path = path_of(route, cast, use_id)
        answer = cast.ana(route.method, path, raw=b"a=b", Content_Type=media, If_Match='"1"')
        assert (answer.status, answer.code) == (415, "unsupported_media_type"), route


def test_only_json_is_given(cast: Cast) -> None:
    for route in routes():
        path = route.path(workspace_id=cast.workspace.public_id)
        answer = cast.ana(route.method, path, {}, Accept="text/turtle")
        assert (answer.status, answer.code) == (406, "not_acceptable"), route


def test_what_a_route_can_do_is_told(cast: Cast) -> None:
    for route in routes():
        answer = cast.ana("OPTIONS", route.path(workspace_id=cast.workspace.public_id))
        assert answer.status == 200, route
        assert route.method in answer.headers["Allow"], route


def test_other_methods_are_405_with_those_allowed(cast: Cast) -> None:
    for route in routes():
        answer = cast.ana("TRACE", route.path(workspace_id=cast.workspace.public_id))
        assert (answer.status, answer.code) == (405, "method_not_allowed"), route
        assert route.method in answer.headers["Allow"], route


# Every name of every column of ours, and what else an attacker would try.
FIELDS = sorted(
    {
        field.name
        for model in apps.get_models()
        if model._meta.app_label.startswith("artifactr")
        for field in model._meta.get_fields()
    }
    | {"pk", "is_superuser", "role", "tenant", "workspace", "tenant_id", "workspace_id"}
)
# More problems than this are not told one by one.
AT_ONCE = 20
# What the bodies that are no command's own part declare.
DECLARED = {
    "commands": {"type", "command_id", "command"},
    "batch": {"command_id", "commands"},
    "artifacts": set(CreateArtifact.model_fields),
    "artifact": set(EditArtifact.model_fields) | set(PutArtifact.model_fields),
    "revert": set(RevertArtifact.model_fields),
    "proposals": set(ProposeChange.model_fields),
    "respond": set(RespondToProposal.model_fields),
    "resolve": set(ResolveGroup.model_fields),
    "feedback": set(GiveFeedback.model_fields),
    "threads": set(CreateThread.model_fields),
    "messages": set(PostMessage.model_fields),
    "focus": set(SetFocus.model_fields),
    "mode": set(SetThreadMode.model_fields),
    "answers": set(AnswerDeferred.model_fields),
    "stop": set(StopRun.model_fields),
    "catalog": {"files", "check"},
    "records": {"records"},
    "bind": {"parameters", "snapshot"},
    "render": {"parameters"},
    "use_feedback": set(Submission.model_fields),
}


def refused(answer: Answer) -> set[str]:
    assert answer.status == 422
    problem = answer.body.get("rejection", answer.body)
    return {error["loc"][-1] for error in problem["errors"] if error["type"] == "extra_forbidden"}


def offers(names: Iterable[str]) -> Iterator[dict[str, str]]:
    ordered = sorted(names)
    for start in range(0, len(ordered), AT_ONCE):
        yield dict.fromkeys(ordered[start : start + AT_ONCE], "x")


@pytest.mark.parametrize("route", WRITES, ids=str)
def test_no_member_beside_the_declared_ones_is_taken(cast: Cast, use_id: str, route: Route) -> None:
    path = path_of(route, cast, use_id)
    for offered in offers(set(FIELDS) - DECLARED[route.name]):
        answer = cast.ana(route.method, path, offered, If_Match='"1"')
        assert refused(answer) == set(offered)
    assert is_untouched()


@pytest.mark.parametrize("command", get_args(AnyCommand), ids=lambda each: each.__name__)
def test_no_command_takes_a_column(cast: Cast, command: Any) -> None:
    type_ = command.model_fields["type"].default
    for offered in offers(set(FIELDS) - set(command.model_fields)):
        assert refused(cast.ana.command({"type": type_, **offered})) == set(offered)


def test_a_patch_bomb_is_refused_before_the_work_is_done(cast: Cast) -> None:
    cast.ben.post("artifacts/", {"artifact_id": "art_1", "kind": "rest_note"})
    copies = [{"op": "copy", "from": "/tags", "path": "/tags/-"}] * 40
    many = [{"op": "test", "path": "/title", "value": ""}] * 100_000
    long = [{"op": "remove", "path": "/a" * 10_000}]
    for ops in (copies, many, long):
        raw = json.dumps({"patch": {"kind": "json_patch", "ops": ops}}).encode()
        answer = cast.ben("PATCH", "artifacts/art_1/", raw=raw, If_Match='"1"')
        assert answer.status in (413, 422)
    assert Event.objects.count() == 1
