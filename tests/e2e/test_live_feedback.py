"""Typed feedback over REST and the socket: one event each way, whoever judges, and its signal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from artifacts import core
from artifacts.keys import create_key
from artifacts.workspace import Workspace
from feedback.services import turns
from learning.models import LearningSignal
from tests.e2e.conftest import Place
from tests.support import live
from tests.support.skilled import RECIPE, TASK, make_skilled

EVALUATOR = core.EvaluatorActor(name="tone", version="3")
VALUE = {"up": False, "comment": "It was not paid."}

Give = Callable[[str, dict[str, Any]], dict[str, Any]]


def key_of(place: Place, actor: core.Actor, role: str = "viewer") -> str:
    _, text = create_key(
        tenant=place.row.tenant, workspace=place.row, name="judge", role=role, actor=actor
    )
    return text


def _rest(server: live.Server, place: Place, path: str, key: str, body: Any) -> httpx.Response:
    url = f"{server.url}/api/v1/workspaces/{place.id}/{path}/"
    return httpx.post(url, json=body, headers={"Authorization": f"Bearer {key}"}, timeout=60)


@pytest.fixture(params=["resource", "commands", "socket"])
def give(request: pytest.FixtureRequest, place: Place, server: live.Server) -> Give:
    """Send feedback one way; `{"ok": …, "code": …}`."""

    def by_resource(key: str, feedback: dict[str, Any]) -> dict[str, Any]:
        answer = _rest(server, place, "feedback", key, feedback)
        return {"ok": answer.status_code == 201, "code": answer.json().get("code")}

    def by_command(key: str, feedback: dict[str, Any]) -> dict[str, Any]:
        body = {"command_id": "cmd_1", "command": {"type": "give_feedback", **feedback}}
        return _result(_rest(server, place, "commands", key, body).json())

    def by_socket(key: str, feedback: dict[str, Any]) -> dict[str, Any]:
        with live.client(server, place.id, key=key) as socket:
            socket.live()
            return _result(socket.result("cmd_1", {"type": "give_feedback", **feedback}))

    ways = {"resource": by_resource, "commands": by_command, "socket": by_socket}
    return ways[request.param]


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    return {"ok": answer["ok"], "code": (answer.get("rejection") or {}).get("type")}


@pytest.fixture
def run_id(place: Place) -> str:
    """A run that was told a recipe."""
    make_skilled(place.workspace)
    thread_id = place.open_thread()
    run_id = place.start_run(thread_id)
    agent = core.AgentActor(thread_id=thread_id, run_id=run_id)
    with turns.instructions(place.workspace.as_actor(agent), run_id, RECIPE, TASK):
        pass
    return run_id


def given(workspace: Workspace) -> list[core.Envelope]:
    return [each for each in workspace.read() if isinstance(each.event, core.FeedbackGiven)]


@pytest.mark.parametrize(
    ("actor", "source"),
    [
        (core.ExternalAgentActor(client_id="app", on_behalf_of=core.UserActor(id="7")), "end_user"),
        (EVALUATOR, "evaluator"),
    ],
)
def test_a_verdict_is_one_event_and_one_signal_each_way(
    place: Place, give: Give, run_id: str, actor: Any, source: str
) -> None:
    target = {"kind": "turn", "run_id": run_id}
    feedback = {"feedback_type": "thumbs", "target": target, "value": VALUE}
    assert give(key_of(place, actor), feedback)["ok"] is True
    [envelope] = given(place.workspace)
    assert envelope.actor == actor
    event = envelope.event
    assert isinstance(event, core.FeedbackGiven)
    assert (event.target, event.value) == (core.TurnTarget(run_id=run_id), VALUE)
    (signal,) = LearningSignal.objects.all()
    assert signal.type == "thumbs_down"
    assert f'"source":"{source}"' in (signal.content or "")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"feedback_type": "applause"}, "validation_failed"),
        ({"value": {"up": "perhaps"}}, "validation_failed"),
        ({"value": {"up": True, "stars": 5}}, "validation_failed"),
        ({"target": {"kind": "turn", "run_id": "run_unknown"}}, "not_found"),
    ],
)
def test_what_is_refused_leaves_neither_event_nor_signal(
    place: Place, give: Give, run_id: str, changed: dict[str, Any], code: str
) -> None:
    target = {"kind": "turn", "run_id": run_id}
    feedback = {"feedback_type": "thumbs", "target": target, "value": VALUE, **changed}
    assert give(key_of(place, EVALUATOR), feedback) == {"ok": False, "code": code}
    assert given(place.workspace) == []
    assert not LearningSignal.objects.exists()
