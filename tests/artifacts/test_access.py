"""Roles, the host's own refusals, and what the host hides."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from django.test import override_settings

from artifacts import access
from artifacts.access import READS, ROLE_TABLE, ROLES, Access
from artifacts.core import (
    AgentActor,
    AnswerDeferred,
    EditArtifact,
    EvaluatorActor,
    ExternalAgentActor,
    Forbidden,
    Hidden,
    JsonPatch,
    NotFound,
    Proposal,
    Run,
    State,
    Thread,
    UserActor,
    Versioned,
)
from artifacts.core.commands import AnyCommand, StopRun, WatchRun

ANA = UserActor(id="1", name="Ana")
CLIENT = ExternalAgentActor(client_id="cli_1")
SCRIBE = AgentActor(thread_id="thr_1")


@dataclass(frozen=True)
class Here:
    id: str = "wsp_1"
    tenant_id: str = "ten_1"


HERE = Here()
# Written out, so that a change of the table is a change of two places, one of them this one.
MAY = {
    "viewer": {"give_feedback", *READS},
    "editor": {
        "create_artifact", "edit_artifact", "archive_artifact", "put_artifact", "propose_change",
        "create_thread", "post_message", "set_focus", "set_thread_mode", "answer_question",
        "stop_run", "ingest", "bind",
    },
    "reviewer": {
        "respond_to_proposal", "resolve_group", "revert_artifact", "answer_approval",
        "stop_any_run", "route_signal",
    },
    "admin": {"manage_members", "manage_keys", "apply_catalog"},
}  # fmt: skip


def may(role: str, action: str, actor: Any = ANA) -> bool:
    try:
        Access(actor=actor, role=role).require(action, HERE)
    except Forbidden:
        return False
    return True


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("action", sorted(ROLE_TABLE))
def test_a_role_may_what_it_and_lower_ones_may(role: str, action: str) -> None:
    lower = ROLES[: ROLES.index(role) + 1]
    assert may(role, action) == any(action in MAY[each] for each in lower)


@pytest.mark.parametrize("actor", [CLIENT, SCRIBE], ids=["client", "scribe"])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("action", sorted(ROLE_TABLE))
def test_an_agent_is_never_more_than_an_editor(actor: Any, role: str, action: str) -> None:
    assert may(role, action, actor) == (may(role, action) and may("editor", action))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("action", sorted(ROLE_TABLE))
def test_an_evaluator_reads_and_gives_feedback(role: str, action: str) -> None:
    judge = EvaluatorActor(name="judge", version="1")
    assert may(role, action, judge) == may("viewer", action)


def test_every_command_stands_in_the_table() -> None:
    types = {each.model_fields["type"].default for each in get_args(AnyCommand)}
    types |= {each.model_fields["type"].default for each in (StopRun, WatchRun)}
    types -= {"answer_deferred"}
    assert types | {"answer_question", "answer_approval"} <= set(ROLE_TABLE)


@pytest.mark.parametrize("fact", ["run_started", "tool_called", "run_ended", "app_event"])
@pytest.mark.parametrize("role", ROLES)
def test_facts_come_from_no_surface(role: str, fact: str) -> None:
    assert not may(role, fact)


@pytest.mark.parametrize(
    ("members", "lowest"), [({"answer": "blue"}, "editor"), ({"approved": True}, "reviewer")]
)
def test_an_approval_needs_more_than_an_answer(members: dict[str, Any], lowest: str) -> None:
    command = AnswerDeferred(run_id="run_1", tool_call_id="call_1", **members)
    allowed = []
    for role in ROLES:
        try:
            Access(actor=ANA, role=role).require(command.type, HERE, command)
            allowed.append(role)
        except Forbidden:
            pass
    assert allowed == list(ROLES[ROLES.index(lowest) :])


@pytest.mark.parametrize("action", sorted(ROLE_TABLE))
def test_a_superuser_without_membership_reads_and_does_nothing_else(action: str) -> None:
    assert Access(actor=ANA, role=None, reads_all=True).allows(action) == (action in READS)


def test_without_role_nothing_is_allowed() -> None:
    assert not any(Access(actor=ANA, role=None).allows(action) for action in ROLE_TABLE)


asked: list[tuple[Any, ...]] = []


def only_reads(actor: Any, workspace: Any, action: str, target: Any) -> bool:
    asked.append((actor, workspace.id, action, target))
    return action in READS


def always(actor: Any, workspace: Any, action: str, target: Any) -> bool:
    return True


@override_settings(ARTIFACTR={"AUTHORIZE": f"{__name__}.only_reads"})
def test_the_host_can_refuse_what_a_role_allows() -> None:
    asked.clear()
    assert may("admin", "read_artifacts")
    assert not may("admin", "create_artifact")
    assert asked == [
        (ANA, "wsp_1", "read_artifacts", None),
        (ANA, "wsp_1", "create_artifact", None),
    ]


@override_settings(ARTIFACTR={"AUTHORIZE": f"{__name__}.always"})
def test_the_host_cannot_allow_what_a_role_refuses() -> None:
    assert not may("viewer", "create_artifact")


calls = 0


def hide(actor: Any, workspace: Any) -> Hidden:
    global calls
    calls += 1
    return Hidden(threads=frozenset({"thr_h"}), artifacts=frozenset({"art_h"}))


@pytest.fixture
def hiding() -> Iterator[None]:
    global calls
    calls = 0
    access.forget_hidden()
    with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hide"}):
        yield
    access.forget_hidden()


@pytest.mark.usefixtures("hiding")
def test_the_host_is_asked_what_it_hides_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 0.0
    monkeypatch.setattr(access.time, "monotonic", lambda: moment)
    caller = Access(actor=ANA, role="viewer")
    assert caller.hidden(HERE) == caller.hidden(HERE) == hide(ANA, HERE)
    assert calls == 2
    caller.hidden(Here(id="wsp_2"))
    Access(actor=CLIENT, role="viewer").hidden(HERE)
    assert calls == 4
    moment = access.HIDDEN_SECONDS + 0.1
    caller.hidden(HERE)
    assert calls == 5


def hide_by_person(actor: Any, workspace: Any) -> Hidden:
    person = actor.on_behalf_of.id if actor.on_behalf_of else None
    return Hidden() if person == "1" else Hidden(artifacts=frozenset({"art_h"}))


def test_what_is_hidden_from_one_person_is_not_told_to_the_client_of_another() -> None:
    access.forget_hidden()
    mine = CLIENT.model_copy(update={"on_behalf_of": ANA})
    theirs = CLIENT.model_copy(update={"on_behalf_of": UserActor(id="2")})
    with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hide_by_person"}):
        assert not Access(actor=mine, role="viewer").hidden(HERE)
        assert Access(actor=theirs, role="viewer").hidden(HERE)
    access.forget_hidden()


def test_by_default_nothing_is_hidden() -> None:
    assert not Access(actor=ANA, role="viewer").hidden(HERE)


def artifact(id: str) -> Versioned[Any]:
    return Versioned(id=id, kind="doc", version=1, data={}, updated_by=ANA)


def proposal(id: str, artifact_id: str, thread_id: str | None = None) -> Proposal:
    patch = JsonPatch(ops=())
    change = EditArtifact(artifact_id=artifact_id, base_version=1, patch=patch)
    return Proposal(
        id=id, change=change, proposed_by=ANA, kind="doc", base_version=1, thread_id=thread_id
    )


def run(thread_id: str) -> Run:
    return Run(id="run_1", thread_id=thread_id)


@pytest.mark.usefixtures("hiding")
@pytest.mark.parametrize(
    ("state", "named"),
    [
        (State(artifacts={"art_h": artifact("art_h")}), ("artifact", "art_h")),
        (State(threads={"thr_h": Thread(id="thr_h", title="t")}), ("thread", "thr_h")),
        (State(runs={"run_1": run("thr_h")}), ("run", "run_1")),
        (State(proposals={"prp_1": proposal("prp_1", "art_h")}), ("proposal", "prp_1")),
        (State(proposals={"prp_1": proposal("prp_1", "art_1", "thr_h")}), ("proposal", "prp_1")),
        (
            State(groups={"grp_1": None}, proposals={"prp_1": proposal("prp_1", "art_h")}),
            ("group", "grp_1"),
        ),
    ],
)
def test_what_a_command_is_about_and_is_hidden_does_not_exist(
    state: State, named: tuple[str, str]
) -> None:
    with pytest.raises(NotFound) as refused:
        Access(actor=ANA, role="admin").refuse_hidden(HERE, state)
    assert (refused.value.entity, refused.value.id) == named


@pytest.mark.usefixtures("hiding")
def test_what_is_not_hidden_passes() -> None:
    state = State(
        artifacts={"art_1": artifact("art_1"), "art_h": None},
        threads={"thr_1": Thread(id="thr_1", title="t")},
        runs={"run_1": run("thr_1")},
        proposals={"prp_1": proposal("prp_1", "art_1")},
    )
    Access(actor=ANA, role="viewer").refuse_hidden(HERE, state)
