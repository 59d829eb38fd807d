"""Whatever is asked in whatever order, the log alone gives the state that was saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from artifacts.core import (
    AgentActor,
    EvaluatorActor,
    ExternalAgentActor,
    Rejection,
    SystemActor,
    UserActor,
    command_adapter,
    fact_adapter,
)
from artifacts.core.patches import same_json
from artifacts.store.replay import replay
from tests.support import kinds
from tests.support.conformance import cases
from tests.support.dict_host import ENTITIES, DictHost

REGISTERED = kinds
ADA = UserActor(id="1", name="Ada")
ACTORS = (
    ADA,
    UserActor(id="2"),
    AgentActor(thread_id="thr_0", run_id="run_0", on_behalf_of=ADA),
    AgentActor(thread_id="thr_1", run_id="run_1"),
    ExternalAgentActor(client_id="desk", on_behalf_of=ADA),
    SystemActor(),
    EvaluatorActor(name="judge", version="1"),
)
Number = Callable[[int], int]
CARDS = ({"title": "x"}, {"title": "y", "points": "7"}, {"title": "x", "labels": ["a", "b"]})
OPS = (
    [{"op": "replace", "path": "/points", "value": "9"}],
    [{"op": "add", "path": "/labels/-", "value": "z"}, {"op": "remove", "path": "/points"}],
    [{"op": "replace", "path": "/title", "value": "y"}],
    [{"op": "remove", "path": "/labels/0"}],
)
ADDRESS = {"collection": "skills", "entity": "ada", "key": "greeting"}


def _change(n: Number, host: DictHost) -> dict[str, Any]:
    artifact_id = f"art_{n(3)}"
    head = host.families["artifacts"].get(artifact_id)
    base = (head.version if head else 0) + (0, 0, 0, -1)[n(4)]
    named: dict[str, Any] = {"artifact_id": artifact_id, "proposal_id": f"prp_{n(6)}"}
    if n(3) == 0:
        named["thread_id"] = f"thr_{n(2)}"
    kind = ("card", "board")[n(2)]
    data = CARDS[n(3)] if kind == "card" else {"goal": "xyz"[n(3)]}
    patch = {"kind": "json_patch", "ops": OPS[n(4)]}
    based = {**named, "base_version": max(base, 1)}
    return (
        {"type": "create_artifact", **named, "kind": kind, "data": data},
        {"type": "edit_artifact", **based, "patch": patch},
        {"type": "put_artifact", **based, "base_version": max(base, 0), "kind": kind, "data": data},
        {"type": "archive_artifact", **based},
        {"type": "revert_artifact", **based, "to_version": 1 + n(3)},
        {"type": "put_artifact", "kind": kind, "data": data, "base_version": n(2),
         "address": ADDRESS, "proposal_id": f"prp_{n(6)}"},
    )[n(6)]  # fmt: skip


def _command(n: Number, host: DictHost) -> dict[str, Any]:
    if n(2):
        return _change(n, host)
    decision = ("accept", "accept", "reject")[n(3)]
    thread, run = f"thr_{n(2)}", f"run_{n(2)}"
    changes = {"kind": "json_patch", "ops": OPS[n(4)]} if decision == "accept" and n(2) else None
    respond: dict[str, Any] = {
        "type": "respond_to_proposal",
        "proposal_id": f"prp_{n(6)}",
        "decision": decision,
    }
    if changes:
        respond |= {"changes": changes, "remainder": ("keep", "drop")[n(2)],
                    "remainder_proposal_id": f"prp_{n(6)}"}  # fmt: skip
    propose: dict[str, Any] = {
        "type": "propose_change",
        "proposal_id": f"prp_{n(6)}",
        "change": _change(n, host),
    }
    if n(2):
        propose["group_id"] = f"grp_{n(2)}"
    answer = {"answer": "x"} if n(2) else {"approved": bool(n(2))}
    return (
        propose,
        propose,
        respond,
        respond,
        {"type": "resolve_group", "group_id": f"grp_{n(2)}", "decision": decision},
        {"type": "create_thread", "thread_id": thread, "title": "x"},
        {"type": "post_message", "thread_id": thread, "message_id": f"msg_{n(4)}", "content": "x"},
        {"type": "set_focus", "thread_id": thread, "artifact_ids": [f"art_{n(3)}"]},
        {"type": "set_thread_mode", "thread_id": thread, "mode": ("edit", "suggest")[n(2)]},
        {"type": "answer_deferred", "run_id": run, "tool_call_id": f"call_{n(2)}", **answer},
        {"type": "give_feedback", "feedback_type": "clarity", "value": {"rating": 1 + n(5)},
         "target": {"kind": "turn", "run_id": run}},
    )[n(11)]  # fmt: skip


def _fact(n: Number) -> dict[str, Any]:
    of = {"run_id": f"run_{n(2)}", "thread_id": f"thr_{n(2)}"}
    call = {"tool_call_id": f"call_{n(2)}", "tool_name": "ask"}
    kind = ("question", "approval")[n(2)]
    return (
        {"type": "run_started", **of, "trigger": ("message", "resume")[n(2)], "trace_id": "t"},
        {"type": "tool_called", **of, **call},
        {"type": "tool_returned", **of, **call},
        {"type": "run_paused", **of, "requests": [{**call, "kind": kind}]},
        {"type": "run_ended", **of, "status": ("completed", "failed")[n(2)]},
        {"type": "app_event", "name": "x", "thread_id": of["thread_id"]},
    )[n(6)]  # fmt: skip


def _step(n: Number, host: DictHost) -> None:
    actor = ACTORS[n(len(ACTORS))]
    if n(4):
        host.commit(command_adapter.validate_python(_command(n, host)), actor=actor)
    else:
        host.record(fact_adapter.validate_python(_fact(n)), actor=actor)


def assert_replayed(host: DictHost) -> None:
    """The entities that were saved are those the log tells, but for what no event carries."""
    told = replay(host.log)
    for family in (*ENTITIES, "revisions"):
        saved = {id: each.wire() for id, each in host.families[family].items()}
        again = {id: each.wire() for id, each in getattr(told, family).items()}
        for proposal in saved.values() if family == "proposals" else ():
            proposal.pop("result", None)
        assert same_json(again, saved), family
    assert set(told.messages) == set(host.families["messages"])


@settings(max_examples=150)
@given(st.data())
def test_the_log_gives_the_state(data: st.DataObject) -> None:
    host = DictHost()
    for id in ("thr_0", "thr_1"):
        created = {"type": "create_thread", "thread_id": id, "title": "x"}
        host.commit(command_adapter.validate_python(created), actor=ADA)

    def number(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    for _ in range(number(12) + 1):
        before = len(host.log)
        try:
            _step(number, host)
        except Rejection:
            assert len(host.log) == before
    assert [each.seq for each in host.log] == list(range(1, len(host.log) + 1))
    assert_replayed(host)


def test_random_steps_reach_every_command_and_fact() -> None:
    """The property above is worth what its steps reach; this counts them, seeded."""
    import random

    chance, seen = random.Random(20), set()
    host = DictHost()
    for _ in range(4_000):
        if chance.random() < 0.01:
            assert_replayed(host)
            host = DictHost()
        before = len(host.log)
        try:
            _step(chance.randrange, host)
        except Rejection:
            continue
        seen |= {event.event.type for event in host.log[before:]}
    expected = {event["type"] for case in cases() for event in case.expected.get("events", ())}
    assert seen == expected
