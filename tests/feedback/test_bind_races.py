"""Binds beside promotions, applies and each other: text, hash and heads belong to one moment, and a
bind that dies leaves nothing half done."""

from __future__ import annotations

import signal
import threading
from functools import partial
from typing import Any

import pytest
from django.db import connection

from artifacts.core import new_id
from artifacts.core.errors import Unavailable
from artifacts.store import alone
from artifacts.workspace import Workspace
from feedback.bound import BoundArtifact
from feedback.models import ArtifactUse, UseTarget
from feedback.services.uses import bind
from learning.models import Record, RecordHead
from learning.selectors.catalog import definition
from learning.selectors.documents import document_rows
from learning.selectors.heads import heads
from learning.services import render as render_service
from learning.services.records import ingest
from learning.services.render import render_artifact
from tests.feedback.dying import bind_and_die
from tests.feedback.uses import ENTITY, PROMPT, bound, furnish, promote
from tests.learning.catalogs import Catalog, apply, catalog
from tests.support.cast import Cast, make_cast
from tests.support.racing import PATIENCE, Background, all_of, together
from tests.support.sites import wait_until
from tests.support.verify import assert_whole

pytestmark = pytest.mark.django_db(transaction=True)
KEYS = ("steps", "pitfalls", "examples")


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    furnish(cast.ana)
    return cast


def promote_version(workspace: Workspace, number: int) -> str:
    return promote(workspace, **{key: f"{key}-v{number}" for key in KEYS})


def versions_in(content: str) -> set[str]:
    """The versions whose text was rendered."""
    return {line.rpartition("-")[2] for line in content.splitlines() if "-v" in line}


def test_heads_named_are_those_rendered_though_a_promotion_commits_in_between(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after the blocks were read, another writer promotes. The control reads twice: once for
    the text and once for the heads, and so names what it did not render."""
    runs = [promote_version(cast.ana, 0)]

    def reading(*args: Any, **options: Any) -> Any:
        found = document_rows(*args, **options)
        runs.append(Background(promote_version, cast.ben, len(runs)).result())
        return found

    monkeypatch.setattr(render_service, "document_rows", reading)
    found = bound(cast.ana)
    assert found.learning_target is not None
    assert versions_in(found.content) == {"v0"}
    assert found.learning_target["base_run_id"] == runs[0]

    text = render_artifact(cast.ana, PROMPT, {"entity": ENTITY, "task": "x"}).render.content
    named = {head.run_id for head in heads(cast.ana.pk, ENTITY, ["skills"])}
    assert versions_in(text) == {"v1"}
    assert named == {runs[2]}, "the control must name another run than the one it shows"


def test_every_use_beside_many_promotions_names_one_that_was_whole(cast: Cast) -> None:
    runs = {promote_version(cast.ana, 0): "v0"}
    ended = threading.Event()

    def promoting() -> None:
        try:
            for number in range(1, 26):
                runs[promote_version(cast.ben, number)] = f"v{number}"
        finally:
            ended.set()

    def binding() -> list[BoundArtifact]:
        found = [bound(cast.ana)]
        while not ended.is_set():
            found.append(bound(cast.ana, snapshot=len(found) % 5 == 0))
        return found

    _, *uses = all_of([Background(promoting), Background(binding), Background(binding)])
    for found in (each for several in uses for each in several):
        target = found.learning_target
        assert target is not None
        assert {head["run_id"] for head in target["heads"]} == {target["base_run_id"]}
        assert versions_in(found.content) == {runs[target["base_run_id"]]}
    assert ArtifactUse.objects.count() == sum(len(several) for several in uses)


@pytest.mark.parametrize("snapshot", [False, True])
def test_one_key_sent_many_times_at_once_is_one_use(cast: Cast, snapshot: bool) -> None:
    found = together(8, lambda _: bound(cast.ana, snapshot=snapshot, idempotency_key="once"))
    assert {each.id for each in found} == {ArtifactUse.objects.get().public_id}
    assert len({each.content for each in found}) == 1
    assert len({each.snapshot_id for each in found}) == 1


def test_the_first_binds_on_new_heads_share_them(cast: Cast) -> None:
    found = together(8, lambda _: bound(cast.ana))
    assert len({each.id for each in found}) == 8
    assert UseTarget.objects.count() == 1
    assert ArtifactUse.objects.filter(target__isnull=False).count() == 8


def test_a_bind_waits_for_nobody_who_writes(cast: Cast) -> None:
    """While a commit holds the workspace, a bind goes through; on SQLite it may read, and only its
    one row waits for the writer."""
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with cast.ben.transaction():
            is_held.set()
            assert may_end.wait(PATIENCE)

    holder = Background(hold)
    assert is_held.wait(PATIENCE)

    if connection.vendor == "postgresql":
        assert bound(cast.ana).id
    else:
        assert render_artifact(cast.ana, PROMPT, {"entity": ENTITY, "task": "x"}).learning_target
    may_end.set()
    holder.result()


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


def test_a_bind_beside_applies_is_of_one_version_and_its_text() -> None:
    """Each use names the definition whose template its text came from, whole."""
    cast = make_cast()
    apply(cast.ana)
    step = {"collection": "skills", "entity": ENTITY, "key": "steps", "text": "Ask."}
    ingest(cast.ana, [step])
    made: list[BoundArtifact] = []
    ended = threading.Event()

    def is_bound(number: int) -> bool:
        return any(each.artifact["version"] == number for each in made)

    def applying() -> None:
        try:
            for number in range(2, 12):
                apply(cast.ana, version(number))
                wait_until(partial(is_bound, number))
        finally:
            ended.set()

    def binding() -> None:
        while not ended.is_set():
            made.append(bind(cast.ana, "prompt", {"entity": ENTITY}))

    all_of([Background(applying), Background(binding), Background(binding)])
    for use in made:
        number = use.artifact["version"]
        assert use.artifact["definition_hash"] == hash_of(cast.ana, number)
        assert use.content.startswith("Skill:" if number == 1 else f"v{number}\n")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's writers share no lock")
def test_a_bind_stands_in_line_and_says_when_its_turn_never_comes(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(cast.ana)
    monkeypatch.setattr(alone, "WRITER_SECONDS", 0.1)
    with cast.ana.transaction(), pytest.raises(Unavailable):
        Background(bound, cast.ben).result()
    assert bound(cast.ben).id


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("point", ["rendered", "add_use"])
def test_a_bind_whose_process_is_killed_leaves_nothing_half_done(
    cast: Cast, point: str, snapshot: bool
) -> None:
    """Killed before its render, or between a snapshot and its use; the same key then binds."""
    before = Record.objects.count(), RecordHead.objects.get().seq, ArtifactUse.objects.count()
    key = new_id("key")
    assert bind_and_die(cast.ana.id, point, key, snapshot=snapshot) == -signal.SIGKILL
    after = Record.objects.count(), RecordHead.objects.get().seq, ArtifactUse.objects.count()
    assert after == before
    use = bound(cast.ana, idempotency_key=key, snapshot=snapshot)
    assert ArtifactUse.objects.get().public_id == use.id
    assert (use.snapshot_id is not None) == snapshot
    assert_whole(cast.ana)
