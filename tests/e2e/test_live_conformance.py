"""The conformance cases through the socket: the same commands, events and answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from artifacts import models
from artifacts.core.patches import same_json
from tests.artifacts.test_api_conformance import COMMANDS, is_refused_before, stored_differences
from tests.e2e.conftest import QUICK, Place
from tests.support import live
from tests.support.conformance import Case, wire
from tests.support.seeding import seed

pytestmark = pytest.mark.once  # what differs between the databases is not the surface's

# Those that say how the host is set up would each need a server of their own.
CASES = [case for case in COMMANDS if not {"limits", "kinds", "agents"} & set(case.raw)]
AGENTS = sorted({str(case.raw["command"].get("agent") or "default") for case in CASES})


def differences(server: live.Server, place: Place, case: Case) -> list[str]:
    """What is not as the case tells."""
    workspace = models.Workspace.objects.create(tenant=place.row.tenant, name="a case")
    seed(workspace, case.entities)
    headers = {
        "X-Actor": json.dumps(case.raw["actor"]),
        "X-Host-User": place.row.tenant.public_id,
    }
    with live.client(server, workspace.public_id, additional=headers) as client:
        client.live()
        client.command("case", case.raw["command"])
        answer = client.next("command_result")
        if not answer["ok"]:
            return _refused(case, answer["rejection"]["type"])
        if "rejection" in case.expected:
            return [f"{case.id}: {answer}"]
        return [f"{case.id}: {each}" for each in _done(client, case, answer, workspace)]


def _refused(case: Case, code: str) -> list[str]:
    wanted = case.expected.get("rejection", {"type": "no rejection"})["type"]
    expected = "forbidden" if is_refused_before(case) else wanted
    return [] if code == expected else [f"{case.id}: {code}, expected {expected}"]


def _done(
    client: live.Client, case: Case, answer: dict[str, Any], workspace: models.Workspace
) -> list[str]:
    outcome = dict(answer["outcome"])
    seq = outcome.pop("seq")
    seen = [frame for frame in client.frames if frame["type"] == "event"]
    if seq and not (seen and seen[-1]["seq"] >= seq):
        client.events(up_to=seq)
    events = [frame["event"] for frame in client.frames if frame["type"] == "event"]
    wanted = wire("events", case.expected.get("events", ()))
    found = [] if same_json(outcome, case.expected["outcome"]) else [f"outcome {outcome}"]
    if not same_json(wire("events", events), wanted):
        found.append(f"frames {json.dumps(events)}, expected {json.dumps(wanted)}")
    return found + stored_differences(workspace, case)


def test_every_case_through_the_socket(place: Place, started: Callable[..., live.Server]) -> None:
    server = started(
        **QUICK,
        RESOLVE_ACTOR="tests.e2e.hooks.resolve",
        AGENTS=dict.fromkeys(AGENTS, "never.taken"),
        SOCKETS_PER_USER=1_000,
    )
    assert len(CASES) > 250
    found = [each for case in CASES for each in differences(server, place, case)]
    assert not found, "\n".join(found[:20])
