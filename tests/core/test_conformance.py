"""The conformance cases on a dictionary: what core decides, asks for, and leaves alone."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
from typing import Any, get_args

import pytest
from pydantic_core import to_json

from artifacts.core import ArtifactChanged, Rejection, apply_patch
from artifacts.core.commands import AnyCommand
from artifacts.core.events import AnyFact, AnyKnownEvent
from artifacts.core.patches import same_json
from artifacts.core.state import FAMILIES, CommitResult
from tests.support.conformance import FIELDS, Case, cases

EVERY = pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
DECIDED = [case for case in cases() if "rejection" not in case.expected]


def outcome_text(case: Case) -> bytes:
    """What came of a case, as bytes: all that was decided, or the rejection."""
    try:
        result = case.run(case.host())
    except Rejection as rejection:
        return to_json(rejection.payload())
    return to_json({name: getattr(result, name) for name in CommitResult.__slots__})


def every_outcome() -> str:
    """One digest over all cases, for comparison between processes."""
    return hashlib.sha256(b"\n".join(outcome_text(case) for case in cases())).hexdigest()


@EVERY
def test_case(case: Case) -> None:
    host = case.host()
    assert not case.differences(host)
    if "needs" in case.raw:
        rounds = [
            {family: sorted(ids) for family in FAMILIES if (ids := getattr(needs, family))}
            for needs in host.rounds
        ]
        assert rounds == case.raw["needs"]


@EVERY
def test_nothing_given_is_changed(case: Case) -> None:
    host = case.host()
    before = copy.deepcopy(host.families)
    try:
        item = case.item()
    except Rejection:
        return
    sent = copy.deepcopy(item)
    state = host.loaded(item, actor=case.actor)
    try:
        case.run(host)
    except Rejection:
        assert host.families == before, "a rejection saves nothing"
        assert not host.log
    assert item == sent
    for family, found in before.items():
        for id, entity in getattr(state, family).items():
            if id in found:
                assert entity == found[id]


@EVERY
def test_the_same_twice(case: Case) -> None:
    assert outcome_text(case) == outcome_text(case)


@pytest.mark.parametrize("seed", ["1", "4242"])
def test_the_same_in_another_process(seed: str) -> None:
    """Sets and dictionaries iterate in another order there; the results may not."""
    script = "from tests.core.test_conformance import every_outcome; print(every_outcome())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": seed, "DJANGO_SETTINGS_MODULE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == every_outcome()


@pytest.mark.parametrize("case", DECIDED, ids=lambda case: case.id)
def test_the_recorded_patch_gives_exactly_what_is_stored(case: Case) -> None:
    host = case.host()
    data = {id: artifact.data for id, artifact in host.families["artifacts"].items()}
    result = case.run(host)
    stored = {(each.artifact_id, each.version): each.data for each in result.revisions}
    for event in result.events:
        if isinstance(event, ArtifactChanged):
            data[event.artifact_id] = apply_patch(data[event.artifact_id], event.patch)
            assert same_json(data[event.artifact_id], stored[event.artifact_id, event.version])


def _types(union: Any) -> set[str]:
    return {model.model_fields["type"].default for model in get_args(union)}


def _seen(*, refused: bool) -> set[str]:
    return {
        (case.raw.get("command") or case.raw["fact"]).get("type", "")
        for case in cases()
        if ("rejection" in case.expected) is refused
    }


def test_every_command_and_fact_has_cases_of_both_kinds() -> None:
    known = _types(AnyCommand) | _types(AnyFact)
    assert known <= _seen(refused=False)
    assert known <= _seen(refused=True)


def test_every_event_outcome_and_family_has_a_case() -> None:
    results = [case.run(case.host()) for case in DECIDED]
    events = {type(event) for result in results for event in result.events}
    assert events == set(get_args(AnyKnownEvent))
    assert {result.outcome.type for result in results} == {
        "applied", "proposed", "resolved", "recorded",
    }  # fmt: skip


def test_every_rejection_of_the_rules_has_a_case() -> None:
    expected = {
        case.expected["rejection"]["type"] for case in cases() if "rejection" in case.expected
    }
    # unsupported_protocol belongs to the handshake: no command can meet it.
    assert expected == {
        each.code
        for each in Rejection.__subclasses__()
        if each.__module__.startswith("artifacts.core.") and each.code != "unsupported_protocol"
    }


def test_cases_are_well_formed() -> None:
    assert len({case.id for case in cases()}) == len(cases())
    for case in cases():
        assert case.raw.keys() <= FIELDS, case.id
        assert ("command" in case.raw) != ("fact" in case.raw), case.id
        assert json.loads(json.dumps(case.raw)) == case.raw
