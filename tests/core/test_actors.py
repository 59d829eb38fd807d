"""Who is who: participant keys, people behind agents, and the names that people read."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from artifacts.core import (
    Actor,
    AgentActor,
    EvaluatorActor,
    ExternalAgentActor,
    SystemActor,
    UserActor,
    actor_adapter,
    display_name,
    is_agent,
)
from artifacts.core.actors import person_behind

ADA = UserActor(id="1", name="Ada")
ALL = [
    (ADA, "user:1", "Ada", "user:1"),
    (UserActor(id="1"), "user:1", "1", "user:1"),
    (AgentActor(thread_id="thr_1", run_id="run_1"), "agent:thr_1", "assistant", None),
    (AgentActor(thread_id="thr_1", name="Poe"), "agent:thr_1", "Poe", None),
    (AgentActor(thread_id="thr_1", on_behalf_of=ADA), "agent:thr_1", "assistant", "user:1"),
    (ExternalAgentActor(client_id="desk"), "external_agent:desk", "desk", None),
    (
        ExternalAgentActor(client_id="desk", name="Desk", on_behalf_of=ADA),
        "external_agent:desk",
        "Desk",
        "user:1",
    ),
    (SystemActor(), "system:system", "system", None),
    (SystemActor(name="key/importer"), "system:key/importer", "key/importer", None),
    (EvaluatorActor(name="judge", version="2"), "evaluator:judge@2", "judge@2", None),
]


@pytest.mark.parametrize(("actor", "key", "name", "person"), ALL, ids=lambda each: str(each)[:24])
def test_actor(actor: Actor, key: str, name: str, person: str | None) -> None:
    assert actor.participant == key
    assert display_name(actor) == name
    assert person_behind(actor) == person
    assert is_agent(actor) == (actor.kind in ("agent", "external_agent"))
    assert actor_adapter.validate_python(actor.wire()) == actor


def test_what_makes_actors_the_same() -> None:
    assert UserActor(id="1", name="Ada").participant == UserActor(id="1", name="A.").participant
    first, second = (AgentActor(thread_id="thr_1", run_id=run) for run in ("run_1", "run_2"))
    assert first.participant == second.participant
    judges = {EvaluatorActor(name="judge", version=v).participant for v in "12"}
    assert len(judges) == 2, "another version judges differently"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "robot", "id": "1"},
        {"kind": "user"},
        {"kind": "user", "id": ""},
        {"kind": "user", "id": "1", "admin": True},
        {"kind": "system", "name": "x" * 201},
        {"kind": "evaluator", "name": "judge"},
        {"kind": "agent", "thread_id": "t", "on_behalf_of": {"kind": "system", "name": "s"}},
    ],
    ids=str,
)
def test_a_malformed_actor_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        actor_adapter.validate_python(wrong)
