"""Catalogs applied at once and beside binds, feedback beside a purge, and a bind that dies."""

from __future__ import annotations

import signal
import threading
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from artifacts import clock
from artifacts.core import NotFound, new_id
from artifacts.core.errors import Rejection
from artifacts.workspace import Workspace
from feedback.core.errors import ArtifactUseExpired, ArtifactUseNotFound
from feedback.models import ArtifactUse, UseSignal
from feedback.services import uses
from feedback.services.expiry import purge_expired
from feedback.services.signals import Submitted
from learning.core.errors import CatalogInvalid
from learning.models import ActiveDefinition, Definition, Record, RecordHead
from learning.selectors.catalog import definition
from learning.services.catalog import Applied
from learning.services.records import ingest
from tests.feedback.dying import bind_and_die
from tests.feedback.uses import bound, furnish, say
from tests.learning.catalogs import Catalog, apply, catalog
from tests.support.cast import Cast, make_cast
from tests.support.racing import Background, all_of, together
from tests.support.verify import assert_whole

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 6


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def version(number: int) -> Catalog:
    """The small catalog with this version of its prompt, whose template names it."""
    changed = catalog()
    changed["package"]["version"] = number
    changed["package"]["artifacts"][0] = f"prompt@{number}"
    prompt = changed["artifacts"][0]
    prompt["version"] = number
    prompt["template"] = f"v{number}\n{prompt['template']}"
    return changed


def hash_of(workspace: Workspace, number: int) -> str:
    return definition(workspace, "artifact", "prompt", number).definition_hash


def test_one_catalog_that_many_apply_is_applied_once(cast: Cast) -> None:
    results = together(MANY, lambda number: apply(cast.ana))
    assert all(isinstance(each, Applied) for each in results)
    assert sorted(len(each.created) for each in results)[:-1] == [0] * (MANY - 1)
    keys = list(Definition.objects.values_list("type", "name", "version"))
    assert len(keys) == len(set(keys)) == ActiveDefinition.objects.count()
    assert_whole(cast.ana)


def test_of_two_bodies_of_one_version_one_is_kept_and_the_other_told_why(cast: Cast) -> None:
    def attempt(number: int) -> Applied:
        changed = catalog()
        changed["artifacts"][0]["template"] += f"{number}"
        return apply(cast.ana, changed)

    results = together(MANY, attempt)
    won = [each for each in results if isinstance(each, Applied)]
    lost = [each for each in results if isinstance(each, CatalogInvalid)]
    assert (len(won), len(lost)) == (1, MANY - 1)
    assert {each.problems[0].rule for each in lost} == {"immutable"}
    assert Definition.objects.filter(type="artifact", name="prompt").count() == 1


def test_a_bind_beside_applies_is_of_one_version_and_its_text(cast: Cast) -> None:
    """Each use names the definition whose template its text came from, whole."""
    apply(cast.ana)
    step = {"collection": "skills", "entity": "agent:ada", "key": "steps", "text": "Ask."}
    ingest(cast.ana, [step])
    done = threading.Event()

    def change() -> None:
        for number in range(2, 12):
            apply(cast.ana, version(number))
        done.set()

    def run() -> list[Any]:
        made: list[Any] = []
        while not done.is_set() or not made:
            made.append(uses.bind(cast.ana, "prompt", {"entity": "agent:ada"}))
        return made

    _, *found = all_of([Background(change), Background(run), Background(run)])
    made = [use for each in found for use in each]
    for use in made:
        number = use.artifact["version"]
        assert use.artifact["definition_hash"] == hash_of(cast.ana, number)
        assert use.content.startswith("Skill:" if number == 1 else f"v{number}\n")
    assert len({use.artifact["version"] for use in made}) > 1


def test_feedback_beside_a_purge_is_kept_whole_or_refused(cast: Cast) -> None:
    furnish(cast.ana)
    ids = [bound(cast.ana).id for _ in range(40)]
    before = Record.objects.count()

    def run(number: int) -> list[Any]:
        if number == 0:
            with clock.moved(timedelta(days=91)):
                while purge_expired():
                    pass
            return []
        told: list[Any] = []
        for id in ids[number - 1 :: MANY - 1]:
            try:
                told.append(say(cast.ana, id))
            except Rejection as refused:
                told.append(refused)
        return told

    answers = [each for told in together(MANY, run) for each in told]
    kept = [each for each in answers if isinstance(each, Submitted)]
    refused = [each for each in answers if not isinstance(each, Submitted)]
    assert {type(each) for each in refused} <= {ArtifactUseExpired, ArtifactUseNotFound}
    assert len(answers) == len(ids)
    assert Record.objects.count() == before + len(kept)
    assert UseSignal.objects.count() <= len(kept)
    assert_whole(cast.ana)


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("point", ["rendered", "add_use"])
def test_a_bind_whose_process_is_killed_leaves_nothing_half_done(
    cast: Cast, point: str, snapshot: bool
) -> None:
    """Killed before its render, or between a snapshot and its use; the same key then binds."""
    furnish(cast.ana)
    before = Record.objects.count(), RecordHead.objects.get().seq, ArtifactUse.objects.count()
    key = new_id("key")
    assert bind_and_die(cast.ana.id, point, key, snapshot=snapshot) == -signal.SIGKILL
    after = Record.objects.count(), RecordHead.objects.get().seq, ArtifactUse.objects.count()
    assert after == before
    use = bound(cast.ana, idempotency_key=key, snapshot=snapshot)
    assert ArtifactUse.objects.get().public_id == use.id
    assert (use.snapshot_id is not None) == snapshot
    assert_whole(cast.ana)


def with_views_in_a_ring(changed: Catalog) -> None:
    changed["views"][0]["scope"]["view"] = "recent@1"


def with_itself_to_learn_from(changed: Catalog) -> None:
    changed["artifacts"][0]["learning"]["artifact"] = "prompt@1"


def with_a_schema_that_refers_to_itself(changed: Catalog) -> None:
    changed["collections"][0]["schema"] = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a",
    }  # fmt: skip


def with_too_many(changed: Catalog) -> None:
    one = changed["collections"][2]
    more = [{**deepcopy(one), "name": f"notes{number}"} for number in range(3_000)]
    changed["collections"] += more
    changed["package"]["collections"] += [f"{each['name']}@1" for each in more]


def with_a_huge_template(changed: Catalog) -> None:
    changed["artifacts"][0]["template"] = "{{skill}}{{history}}" + "x" * 3_000_000


@pytest.mark.parametrize(
    "spoil",
    [
        with_views_in_a_ring,
        with_itself_to_learn_from,
        with_a_schema_that_refers_to_itself,
        with_too_many,
        with_a_huge_template,
    ],
)
def test_a_catalog_that_turns_in_a_ring_or_is_huge_is_refused(cast: Cast, spoil: Any) -> None:
    changed = catalog()
    spoil(changed)
    with pytest.raises(CatalogInvalid) as refused:
        apply(cast.ana, changed)
    assert refused.value.problems
    assert not Definition.objects.exists()
    with pytest.raises((NotFound, Rejection)):
        uses.bind(cast.ana, "prompt", {"entity": "agent:ada"})
