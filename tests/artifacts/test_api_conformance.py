"""The conformance cases over REST and through the door: what core says is what both answer.

The same command gives the same events, entities and outcome, whoever's surface carried it.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from django.test import Client, override_settings

from artifacts import models
from artifacts.access import ROLE_TABLE, Access
from artifacts.core import Rejection, SystemActor, actor_adapter, is_agent
from artifacts.core.outcomes import AnyOutcome
from artifacts.core.patches import same_json
from artifacts.surfaces.authentication import Principal
from artifacts.workspace import Workspace, open_workspace
from tests.artifacts.rest import PREFIX, Answer, Caller
from tests.support.conformance import Case, cases, rejection_differences, wire
from tests.support.seeding import seed
from threads import selectors

pytestmark = pytest.mark.django_db
COMMANDS = [case for case in cases() if "command" in case.raw]
ROWS_ONLY = {"id", "change_set_id", "at", "trace_id"}


def as_case_says(source: Any) -> Principal:
    return Principal(
        actor=actor_adapter.validate_json(source.headers["X-Actor"]),
        tenant_id=source.headers["X-Tenant"],
        role="admin",
    )


def configured(case: Case) -> Any:
    agents = case.raw.get("agents") or [case.raw.get("command", {}).get("agent") or "default"]
    return override_settings(
        ARTIFACTR={
            "EXECUTOR": "celery",
            "RESOLVE_ACTOR": f"{__name__}.as_case_says",
            "LIMITS": case.raw.get("limits", {}),
            "KINDS": case.raw.get("kinds"),
            "AGENTS": dict.fromkeys(map(str, agents), "never.taken"),
        }
    )


@pytest.fixture
def workspace() -> models.Workspace:
    tenant = models.Tenant.objects.create(name="t")
    return models.Workspace.objects.create(tenant=tenant, name="w")


def door(workspace: models.Workspace) -> Workspace:
    return open_workspace(workspace.public_id, actor=SystemActor())


def entities(workspace: models.Workspace, case: Case, family: str) -> list[Any]:
    """What is stored of each entity a case expects, in its JSON form."""
    inside = door(workspace)
    found = []
    for each in case.expected.get(family, ()):
        match family:
            case "artifacts":
                found.append(inside.artifact(each["id"]).wire())
            case "revisions":
                row = inside.revision(each["artifact_id"], each["version"]).wire()
                found.append({name: row[name] for name in row if name not in ROWS_ONLY})
            case "proposals":
                found.append(inside.proposal(each["id"]).wire())
            case "groups":
                found.append(inside.group(each["id"]).wire())
            case "threads":
                found.append(selectors.thread(inside, each["id"]).wire())
            case "runs":
                found.append(selectors.run(inside, each["id"]).wire())
    return found


def stored_differences(workspace: models.Workspace, case: Case) -> list[str]:
    """Events and entities that are not as the case tells."""
    logged = [envelope.event.wire() for envelope in door(workspace).read()]
    wanted = wire("events", case.expected.get("events", ()))
    found = [] if same_json(wanted, logged) else [f"events {logged}, expected {wanted}"]
    for family in ("artifacts", "revisions", "proposals", "groups", "threads", "runs"):
        expected = wire(family, case.expected.get(family, ()))
        got = entities(workspace, case, family)
        if not same_json(expected, got):
            found.append(f"{family} {json.dumps(got)}, expected {json.dumps(expected)}")
    return found


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_through_the_door(case: Case, workspace: models.Workspace) -> None:
    seed(workspace, case.entities)
    inside = door(workspace).as_actor(case.actor)
    if "rejection" in case.expected:
        with configured(case), pytest.raises(Rejection) as refused:
            sent_in(inside, case)
        assert not rejection_differences(case.expected["rejection"], refused.value)
        assert not models.Event.objects.exists()
        return
    with configured(case):
        said = sent_in(inside, case).wire()
    assert said.pop("seq") == inside.head_seq()
    assert same_json(said, case.expected["outcome"])
    assert not stored_differences(workspace, case)


def sent_in(inside: Workspace, case: Case) -> AnyOutcome:
    item = case.item()
    return inside.record(item) if "fact" in case.raw else inside.commit(item)  # type: ignore[arg-type]


def test_a_difference_is_seen(workspace: models.Workspace) -> None:
    """The control: another event or another row than the case tells does not pass."""
    case = next(each for each in COMMANDS if each.expected.get("revisions"))
    seed(workspace, case.entities)
    with configured(case):
        sent_in(door(workspace).as_actor(case.actor), case)
    assert not stored_differences(workspace, case)
    for family in ("events", "artifacts", "revisions"):
        told = copy.deepcopy(case.raw)
        told["expect"][family][0]["kind"] = "other"
        assert stored_differences(workspace, Case(case.file, told))


def is_refused_before(case: Case) -> bool:
    """Whether the surface's own role refuses what core would decide: agents are never more than
    editors, and some commands are more than an editor's."""
    if not is_agent(case.actor):
        return False
    access = Access(actor=case.actor, role="admin")
    command = case.raw["command"]
    return command.get("type") in ROLE_TABLE and not access.allows(command["type"])


@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: case.id)
def test_over_rest(case: Case, workspace: models.Workspace) -> None:
    seed(workspace, case.entities)
    caller = Caller(
        f"{PREFIX}{workspace.public_id}/",
        Client(),
        {"X-Actor": json.dumps(case.raw["actor"]), "X-Tenant": workspace.tenant.public_id},
    )
    with configured(case):
        answer = caller.post("commands/", {"command": case.raw["command"]})
    if is_refused_before(case):
        assert answer.status == 403
    elif "rejection" in case.expected:
        assert answer.body["rejection"]["type"] == case.expected["rejection"]["type"]
    else:
        assert_as_told(answer, case, workspace)
        return
    assert not models.Event.objects.exists()


def assert_as_told(answer: Answer, case: Case, workspace: models.Workspace) -> None:
    assert answer.status == 200, answer.text
    said = answer.body["outcome"]
    assert said.pop("seq") == door(workspace).head_seq()
    assert same_json(said, case.expected["outcome"])
    assert not stored_differences(workspace, case)
