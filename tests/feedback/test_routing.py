"""Routing: a person or the host's policy makes evidence of a signal, once; nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import override_settings

from artifacts import core
from artifacts.access import ROLES, Access
from artifacts.workspace import Workspace
from feedback.local import Local
from feedback.services.routing import KeptSignal, Route, route_signal
from learning.core.errors import DedupeConflict, RequestSchema
from learning.models import Record
from learning.services.records import record
from tests.support.cast import ANA, SYSTEM, make_cast
from tests.support.skilled import ADA, RECIPE, TASK, make_skilled

pytestmark = pytest.mark.django_db

FAILURE = Route(collection="outcomes", type="exception", content={"kind": "failure"})


@pytest.fixture
def ana() -> Workspace:
    return make_skilled(make_cast().ana)


def a_signal(workspace: Workspace, recipe: str = RECIPE, **parameters: Any) -> str:
    here = Local(workspace)
    use = here.artifact(recipe).bind(parameters or TASK)
    say = here.feedback.for_use(use.id)
    return say.thumbs_down(comment="It said paid.", label="incorrect_status")["record_id"]


def evidence(workspace: Workspace) -> list[Record]:
    rows = Record.objects.filter(workspace_id=workspace.pk, collection="outcomes")
    return list(rows.order_by("pk"))


def test_a_signal_becomes_evidence_on_its_subject(ana: Workspace) -> None:
    signal_id = a_signal(ana)
    routed = route_signal(ana, signal_id, FAILURE)

    assert routed.record_id is not None
    assert routed.duplicate is False
    signal, found = record(ana, signal_id), record(ana, routed.record_id)
    assert (found.collection, found.entity, found.type) == ("outcomes", ADA, "exception")
    assert found.text == signal.text
    assert found.content == {"kind": "failure", "signal": signal.content["signal"]}
    assert found.derived_from == (signal_id,)
    assert found.actor == ANA
    # The signal itself stays where it is, on the backlog of the recipe to improve.
    assert signal.entity == "artifact:maintained_skill"


def test_it_is_routed_once(ana: Workspace) -> None:
    signal_id = a_signal(ana)
    first, again = (route_signal(ana, signal_id, FAILURE) for _ in range(2))
    assert (again.record_id, again.duplicate) == (first.record_id, True)
    with pytest.raises(DedupeConflict):
        route_signal(ana, signal_id, FAILURE.model_copy(update={"type": "note"}))
    assert len(evidence(ana)) == 1


def test_the_evidence_key_is_made_of_the_signals_id(ana: Workspace) -> None:
    """A host that copied the signal by itself, as documented, meets the same key."""
    signal_id = a_signal(ana)
    signal = record(ana, signal_id)
    own = Local(ana).records.ingest(
        entity=ADA,
        collection="outcomes",
        type="exception",
        text=signal.text,
        content={"kind": "failure", "signal": signal.content["signal"]},
        derived_from=[signal_id],
        dedupe_key=f"signal:{signal_id}",
    )
    routed = route_signal(ana, signal_id, FAILURE)
    assert (routed.record_id, routed.duplicate) == (own["record_id"], True)


def test_without_a_subject_one_must_be_named(ana: Workspace) -> None:
    signal_id = a_signal(ana, "maintained_skill", entity=ADA)  # it declares no learning
    with pytest.raises(RequestSchema, match="entity"):
        route_signal(ana, signal_id, FAILURE)
    named = route_signal(ana, signal_id, FAILURE.model_copy(update={"entity": "agent:eve"}))
    assert named.record_id is not None
    assert record(ana, named.record_id).entity == "agent:eve"


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"collection": "no_such"}, "collection"),
        ({"collection": "skills"}, "key"),
        ({"content": {}}, "content"),
        ({"content": {"kind": "both"}}, "content"),
    ],
)
def test_what_the_collection_refuses_is_refused_and_names_the_field(
    ana: Workspace, changed: dict[str, Any], where: str
) -> None:
    signal_id = a_signal(ana)
    with pytest.raises(RequestSchema, match=where):
        route_signal(ana, signal_id, FAILURE.model_copy(update=changed))
    assert evidence(ana) == []
    route_signal(ana, signal_id, FAILURE)  # no key was used up


def test_only_a_signal_of_this_workspace_is_routed(ana: Workspace) -> None:
    here = Local(ana)
    other = here.records.ingest(collection="main", entity=ADA, type="note", text="no signal")
    for id in (other["record_id"], "rec_unknown"):
        with pytest.raises(core.NotFound):
            route_signal(ana, id, FAILURE)
    elsewhere = make_skilled(make_cast().otto)
    with pytest.raises(core.NotFound):
        route_signal(elsewhere, a_signal(ana), FAILURE)


@pytest.mark.parametrize("role", ROLES)
def test_reviewers_and_admins_route(ana: Workspace, role: str) -> None:
    signal_id = a_signal(ana)
    door = Workspace(
        id=ana.id, tenant_id=ana.tenant_id, actor=ANA, pk=ana.pk,
        access=Access(actor=ANA, role=role),
    )  # fmt: skip
    if role in ("reviewer", "admin"):
        assert route_signal(door, signal_id, FAILURE).record_id is not None
    else:
        with pytest.raises(core.Forbidden):
            route_signal(door, signal_id, FAILURE)
        assert evidence(ana) == []


# The policy of a host

_policy: Any = None


def policy(signal: KeptSignal) -> Any:
    return _policy(signal)


@contextmanager
def policy_is(function: Any) -> Iterator[None]:
    global _policy
    _policy = function
    with override_settings(ARTIFACTR={"ROUTE_POLICY": f"{__name__}.policy"}):
        yield


def test_nothing_is_routed_by_default(ana: Workspace) -> None:
    for kind in ("thumbs_down", "task_failure", "exception", "correction"):
        use = Local(ana).artifact(RECIPE).bind(TASK)
        Local(ana).feedback.submit(use_id=use.id, kind=kind, source="application")
    assert evidence(ana) == []


def test_a_policy_routes_what_it_says_with_the_signal(ana: Workspace) -> None:
    seen: list[KeptSignal] = []

    def failures(signal: KeptSignal) -> Route | None:
        seen.append(signal)
        return FAILURE if signal.type == "thumbs_down" else None

    with policy_is(failures):
        signal_id = a_signal(ana)
        use = Local(ana).artifact(RECIPE).bind(TASK)
        Local(ana).feedback.for_use(use.id).thumbs_up()
    (found,) = evidence(ana)
    assert record(ana, found.public_id).derived_from == (signal_id,)
    assert [each.type for each in seen] == ["thumbs_down", "thumbs_up"]
    assert seen[0].subject == ADA
    assert seen[0].record_id == signal_id


def test_a_repeated_signal_is_not_asked_about_again(ana: Workspace) -> None:
    asked: list[KeptSignal] = []
    use = Local(ana).artifact(RECIPE).bind(TASK)
    with policy_is(asked.append):
        for _ in range(2):
            Local(ana).feedback.for_use(use.id).thumbs_down(dedupe_key="once")
    assert len(asked) == 1


@pytest.mark.parametrize(
    "broken",
    [
        lambda signal: 1 / 0,
        lambda signal: {"collection": "outcomes"},
        lambda signal: Route(collection="no_such", type="note"),
    ],
)
def test_a_policy_that_fails_leaves_the_signal(ana: Workspace, broken: Any) -> None:
    with policy_is(broken):
        signal_id = a_signal(ana)
    assert record(ana, signal_id).type == "thumbs_down"
    assert evidence(ana) == []
    route_signal(ana.as_actor(SYSTEM), signal_id, FAILURE)
