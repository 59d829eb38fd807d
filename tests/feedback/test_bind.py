"""Binding: what a use gives, what it names, and what it leaves in the database."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, models
from django.test import override_settings

from artifacts import clock
from artifacts.core import ArchiveArtifact, address_id
from artifacts.workspace import Workspace
from feedback.bound import BoundArtifact
from feedback.core.errors import ArtifactUseExpired, RenderChanged
from feedback.models import ArtifactUse, UseTarget, UseTargetHead
from feedback.services.uses import bind, use, uses
from learning.core.errors import ArtifactNotFound, RequestSchema
from learning.core.render_errors import ArtifactBlock, ArtifactParameter, ArtifactSnapshot
from learning.models import Definition, Record
from learning.services.catalog import apply_catalog, files_of_package
from learning.services.records import ingest, record
from tests.feedback.uses import ENTITY, PROMPT, SKILL, bound, furnish, outcome, promote, put, say
from tests.support.asked import asked
from tests.support.cast import Cast, make_cast
from tests.support.wire import counted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    furnish(cast.ana)
    return cast


def row(use_id: str) -> ArtifactUse:
    return ArtifactUse.objects.get(public_id=use_id)


def target(found: BoundArtifact) -> dict[str, Any]:
    assert found.learning_target is not None
    return dict(found.learning_target)


# What comes back


def test_a_bind_gives_the_text_and_a_short_id(cast: Cast) -> None:
    found = bound(cast.ana, "Answer <b>")
    assert re.fullmatch(r"use_[0-9a-f]{32}", found.id)
    for text in (*SKILL.values(), "Answer \\u003cb\\u003e"):
        assert text in found.content
    definition = Definition.objects.get(type="artifact", name=PROMPT)
    assert found.artifact == {
        "name": PROMPT, "version": 1, "definition_hash": definition.sha256,
    }  # fmt: skip
    assert found.render_sha256 == hashlib.sha256(found.content.encode()).hexdigest()
    assert (found.snapshot_id, found.truncated) == (None, False)
    assert found.telemetry_attributes == {
        "artifactr.use.id": found.id,
        "artifactr.artifact.name": PROMPT,
        "artifactr.artifact.version": 1,
        "artifactr.artifact.definition_hash": definition.sha256,
        "artifactr.artifact.render_sha256": found.render_sha256,
    }


def test_the_handle_cannot_be_changed_and_travels_as_json(cast: Cast) -> None:
    found = bound(cast.ana)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.id = "use_other"  # type: ignore[misc]
    assert BoundArtifact.of(json.loads(json.dumps(found.wire()))) == found


def test_the_same_input_renders_to_the_same_hash_under_another_id(cast: Cast) -> None:
    one, two = bound(cast.ana), bound(cast.ana)
    assert one.id != two.id
    assert (one.content, one.render_sha256) == (two.content, two.render_sha256)


def test_a_snapshot_and_a_namespace_show_in_the_attributes(cast: Cast) -> None:
    with override_settings(ARTIFACTR={"TELEMETRY_NAMESPACE": "shop"}):
        found = bound(cast.ana, snapshot=True)
    assert found.telemetry_attributes["shop.artifact.snapshot_id"] == found.snapshot_id
    assert all(name.startswith("shop.") for name in found.telemetry_attributes)


def test_a_cut_block_is_told_at_bind_and_on_the_use(cast: Cast) -> None:
    promote(cast.ana, examples="x" * 16_000)
    found = bound(cast.ana)
    assert found.truncated
    assert use(cast.ana, found.id).truncated
    assert [head["key"] for head in target(found)["heads"]] == ["steps", "pitfalls"]


# What is kept


def test_the_row_has_identity_and_hashes_and_room_for_nothing_else() -> None:
    columns = {field.name: field for field in ArtifactUse._meta.concrete_fields}
    assert set(columns) == {
        "id", "workspace", "public_id", "recipe_name", "recipe_version", "definition_hash",
        "render_sha256", "truncated", "target", "snapshot_id", "sender", "idempotency_key",
        "request_sha256", "created_at", "expires_at",
    }  # fmt: skip
    assert not [name for name, field in columns.items() if isinstance(field, models.TextField)]


def test_neither_text_nor_parameters_are_kept_anywhere(cast: Cast) -> None:
    found = bound(cast.ana, "canary-parameter", idempotency_key="key-1")
    assert "canary-parameter" in found.content
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith("artifactr_"):
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
                assert "canary-parameter" not in repr(cursor.fetchall()), table


def test_a_thousand_binds_leave_the_records_as_they_were(cast: Cast) -> None:
    before = Record.objects.count()
    for _ in range(1_000):
        bound(cast.ana)
    assert Record.objects.count() == before
    assert ArtifactUse.objects.count() == 1_000
    assert UseTarget.objects.count() == 1, "they ran on the same heads"
    assert UseTargetHead.objects.count() == 3


def test_a_bind_locks_no_workspace_and_inserts_once(cast: Cast) -> None:
    bound(cast.ana)
    with asked() as found, counted() as wire:
        bound(cast.ana)
    sent = [sql for sql in found if not sql.startswith(("BEGIN", "COMMIT"))]
    assert [sql.split()[0] for sql in sent] == ["SELECT", "SELECT", "SELECT", "INSERT"]
    assert not any("FOR NO KEY UPDATE" in sql or "FOR UPDATE" in sql for sql in sent)
    # The one row needs no transaction around it; beside these nothing is sent.
    assert len(wire.statements) == len(sent)


@pytest.mark.parametrize("count", [10, 100])
def test_a_bind_costs_the_same_statements_at_any_number_of_rows(cast: Cast, count: int) -> None:
    event = {"collection": "outcomes", "entity": ENTITY, "type": "failure", "text": "x"}
    ingest(cast.ana, [{**event, "content": {"kind": "failure"}}] * count)
    cast.ana.commit_all([put(cast.ana, f"key {number}", "x") for number in range(count)])
    bound(cast.ana)
    with counted() as wire:
        found = bound(cast.ana)
    assert len(target(found)["heads"]) == count + 3
    assert len(wire.statements) <= 6, wire.statements


# What should learn


def test_the_target_names_the_heads_of_one_promotion(cast: Cast) -> None:
    run = promote(cast.ana, steps="Ask first.")
    found = target(bound(cast.ana))
    maintained = Definition.objects.get(type="artifact", name="maintained_skill")
    assert found["artifact"] == {
        "name": "maintained_skill", "version": 1, "definition_hash": maintained.sha256,
        "kind": "skill",
    }  # fmt: skip
    assert (found["entity"], found["block"], found["base_run_id"]) == (ENTITY, "skill", run)
    assert [(head["collection"], head["key"], head["run_id"]) for head in found["heads"]] == [
        ("skills", key, run) for key in ("steps", "pitfalls", "examples")
    ]
    kept = record(cast.ana, found["heads"][0]["record_id"])
    assert (kept.text, kept.version) == ("Ask first.", 2)


def test_heads_of_several_runs_have_no_base(cast: Cast) -> None:
    first = target(bound(cast.ana))
    cast.ana.commit_all([put(cast.ana, "steps", "Other.")], origin="promotion")
    cast.ana.commit(put(cast.ana, "pitfalls", "Written directly."))
    found = target(bound(cast.ana))
    runs = [head["run_id"] for head in found["heads"]]
    assert found["base_run_id"] is None
    assert len(set(runs)) == 3
    assert (runs[1], runs[2]) == (None, first["base_run_id"])


def test_without_a_head_the_bind_succeeds_without_a_target(cast: Cast) -> None:
    found = bound(cast.ana, entity="agent:new")
    assert found.learning_target is None
    assert use(cast.ana, found.id).learning_target is None
    assert "skill" in found.content


def test_a_recipe_that_declares_no_learning_has_no_target(cast: Cast) -> None:
    found = bind(cast.ana, "maintained_skill", {"entity": ENTITY})
    assert found.learning_target is None
    assert SKILL["steps"] in found.content


def test_an_older_use_keeps_the_heads_it_ran_on(cast: Cast) -> None:
    first = bound(cast.ana)
    promote(cast.ana, steps="New.")
    second = bound(cast.ana)
    assert use(cast.ana, first.id).learning_target == first.learning_target
    assert target(first)["base_run_id"] != target(second)["base_run_id"]


def test_a_use_names_the_version_that_rendered(cast: Cast) -> None:
    first = bound(cast.ana)
    files = dict(files_of_package("skills"))
    path = next(name for name, text in files.items() if f"name: {PROMPT}" in text)
    name = f"name: {PROMPT}\n    version: "
    files[path] = files[path].replace(f"{name}1", f"{name}2").replace("Work as", "Act as")
    files["package.yaml"] = (
        files["package.yaml"]
        .replace(f"{PROMPT}@1", f"{PROMPT}@2")
        .replace("version: 1", "version: 2")
    )
    apply_catalog(cast.ana, files)
    second = bound(cast.ana)
    assert second.artifact["version"] == 2
    assert second.content.startswith("Act as")
    assert use(cast.ana, first.id).artifact == first.artifact
    assert [each.id for each in uses(cast.ana, recipe=PROMPT, version=1)] == [first.id]


# What is refused leaves nothing


@pytest.mark.parametrize(
    ("name", "parameters", "options", "error"),
    [
        ("nothing", {}, {}, ArtifactNotFound),
        (PROMPT, {"entity": ENTITY}, {}, ArtifactParameter),
        (PROMPT, {"entity": 3, "task": "x"}, {}, ArtifactParameter),
        (PROMPT, {"entity": ENTITY, "task": "x", "more": 1}, {}, ArtifactParameter),
        (PROMPT, {"entity": "", "task": "x"}, {}, ArtifactParameter),
        ("maintained_skill", {"entity": ENTITY}, {"snapshot": True}, ArtifactSnapshot),
        (PROMPT, {"entity": ENTITY, "task": "x"}, {"idempotency_key": "a/b"}, RequestSchema),
        (PROMPT, {"entity": ENTITY, "task": "x"}, {"idempotency_key": ""}, RequestSchema),
    ],
)
def test_what_is_refused_binds_nothing(
    cast: Cast,
    name: str,
    parameters: dict[str, Any],
    options: dict[str, Any],
    error: type[Exception],
) -> None:
    before = Record.objects.count()
    with pytest.raises(error):
        bind(cast.ana, name, parameters, **options)
    assert not ArtifactUse.objects.exists()
    assert Record.objects.count() == before


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_render_that_fails_binds_nothing(cast: Cast, snapshot: bool) -> None:
    promote(cast.ana, steps="x" * 40_000)  # alone above the budget of its required block
    before = Record.objects.count()
    with pytest.raises(ArtifactBlock):
        bound(cast.ana, snapshot=snapshot)
    assert not ArtifactUse.objects.exists()
    assert Record.objects.count() == before


def test_a_snapshot_that_cannot_be_kept_is_refused_before_blocks_are_read(cast: Cast) -> None:
    with counted() as wire, pytest.raises(ArtifactSnapshot):
        bind(cast.ana, "maintained_skill", {"entity": ENTITY}, snapshot=True)
    assert not any("currentrecord" in sql for sql in wire.statements)


# Snapshots


def test_a_snapshot_is_of_the_same_render(cast: Cast) -> None:
    seen = outcome(cast.ana, "It worked.")
    found = bound(cast.ana, snapshot=True)
    assert found.snapshot_id is not None
    kept = record(cast.ana, found.snapshot_id)
    assert (kept.collection, kept.entity, kept.key, kept.type) == (
        "prompt_snapshots", ENTITY, PROMPT, "prompt_snapshot",
    )  # fmt: skip
    assert kept.content["content"] == found.content
    assert kept.content["render_sha256"] == found.render_sha256
    assert use(cast.ana, found.id).snapshot_id == found.snapshot_id
    heads = [head["record_id"] for head in target(found)["heads"]]
    assert set(kept.derived_from) == {*heads, seen}, "all that it shows"
    told = kept.content["manifest"]["blocks"]["skill"]["rows"]
    assert [each["record_id"] for each in told] == heads


def test_a_snapshot_outlives_what_it_was_made_from(cast: Cast) -> None:
    found = bound(cast.ana, snapshot=True)
    assert found.snapshot_id is not None
    promote(cast.ana, steps="Other.")
    gone = address_id("skills", ENTITY, "pitfalls")
    cast.ana.commit(ArchiveArtifact(artifact_id=gone, base_version=2))
    bound(cast.ana, snapshot=True)
    assert record(cast.ana, found.snapshot_id).content["content"] == found.content


def test_the_newest_snapshot_at_an_address_is_current(cast: Cast) -> None:
    first, second = (bound(cast.ana, task, snapshot=True) for task in ("one", "two"))
    assert first.snapshot_id != second.snapshot_id
    current = [record(cast.ana, each.snapshot_id or "").current for each in (first, second)]
    assert current == [False, True]
    assert not cast.ana.artifacts(limit=10)[3:], "a snapshot is no artifact, and not in the log"


# Retries


def test_a_repeated_key_gives_the_first_use_with_its_text(cast: Cast) -> None:
    first = bound(cast.ana, idempotency_key="key-1")
    assert bound(cast.ana, idempotency_key="key-1") == first
    assert ArtifactUse.objects.count() == 1


def test_a_key_belongs_to_its_sender_and_workspace(cast: Cast) -> None:
    furnish(cast.otto)
    found = {
        bound(workspace, idempotency_key="key-1").id
        for workspace in (cast.ana, cast.ben, cast.otto)
    }
    assert len(found) == 3


@pytest.mark.parametrize(
    "changed", [{"task": "Other."}, {"snapshot": True}, {"entity": "agent:bob"}]
)
def test_a_key_is_not_taken_for_another_request(cast: Cast, changed: dict[str, Any]) -> None:
    bound(cast.ana, idempotency_key="key-1")
    with pytest.raises(RequestSchema, match="Idempotency-Key"):
        bound(cast.ana, **changed, idempotency_key="key-1")
    assert ArtifactUse.objects.count() == 1


def test_a_retry_whose_text_cannot_be_made_again_says_so(cast: Cast) -> None:
    first = bound(cast.ana, idempotency_key="key-1")
    promote(cast.ana, steps="Other.")
    with pytest.raises(RenderChanged) as refused:
        bound(cast.ana, idempotency_key="key-1")
    assert refused.value.data == {"id": first.id}
    assert say(cast.ana, first.id).record_id, "the use stands"
    assert bound(cast.ana, idempotency_key="key-2").id != first.id


def test_a_retry_with_a_snapshot_gives_its_text_whatever_has_changed(cast: Cast) -> None:
    first = bound(cast.ana, snapshot=True, idempotency_key="key-1")
    promote(cast.ana, steps="Other.")
    before = Record.objects.count()
    assert bound(cast.ana, snapshot=True, idempotency_key="key-1") == first
    assert Record.objects.count() == before


def test_a_retry_of_an_expired_use_is_refused(cast: Cast) -> None:
    bound(cast.ana, idempotency_key="key-1")
    with clock.moved(timedelta(days=91)), pytest.raises(ArtifactUseExpired):
        bound(cast.ana, idempotency_key="key-1")


# Expiry


def test_a_use_expires_after_the_days_of_the_setting(cast: Cast) -> None:
    found = use(cast.ana, bound(cast.ana).id)
    assert found.expires_at == found.created_at + timedelta(days=90)
    assert not found.expired
    with clock.moved(timedelta(days=90)):
        assert use(cast.ana, found.id).expired


def test_lowering_the_window_ends_uses_at_once_and_raising_it_revives_none(cast: Cast) -> None:
    def is_expired(use_id: str, days: int | None) -> bool:
        with override_settings(ARTIFACTR={"USE_RETENTION_DAYS": days}):
            return use(cast.ana, use_id).expired

    with override_settings(ARTIFACTR={"USE_RETENTION_DAYS": 10}):
        brief = bound(cast.ana).id
    long = bound(cast.ana).id
    with clock.moved(timedelta(days=11)):
        assert [is_expired(brief, days) for days in (5, 10, 90, None)] == [True] * 4
        assert [is_expired(long, days) for days in (5, 10, 90, None)] == [True, True, False, False]


def test_a_use_may_be_kept_for_ever(cast: Cast) -> None:
    with override_settings(ARTIFACTR={"USE_RETENTION_DAYS": None}):
        found = bound(cast.ana)
        assert found.expires_at is None
        with clock.moved(timedelta(days=40_000)):
            assert not use(cast.ana, found.id).expired
    with clock.moved(timedelta(days=90)):
        assert use(cast.ana, found.id).expired, "the setting in force ends it"


# Reading


def test_uses_are_listed_by_recipe_and_by_the_heads_they_ran_on(cast: Cast) -> None:
    first = bound(cast.ana)
    other = bind(cast.ana, "maintained_skill", {"entity": ENTITY})
    cast.ana.commit(put(cast.ana, "steps", "New."))
    second = bound(cast.ana)
    steps, pitfalls = (head["record_id"] for head in target(first)["heads"][:2])

    def ids(workspace: Workspace = cast.ana, **query: Any) -> list[str]:
        return [each.id for each in uses(workspace, **query)]

    assert ids() == [first.id, other.id, second.id]
    assert ids(recipe=PROMPT) == [first.id, second.id]
    assert ids(head=steps) == [first.id]
    assert ids(head=pitfalls) == [first.id, second.id]
    assert ids(after=first.id, limit=1) == [other.id]
    assert ids(recipe=PROMPT, version=2) == ids(head="rec_none") == ids(cast.otto) == []
