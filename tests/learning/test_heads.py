"""The values in force: one record for each revision, and the heads in one statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from artifacts import core
from artifacts.core import Hidden
from artifacts.workspace import Workspace
from learning.models import CurrentRecord, Record, RecordText
from learning.selectors.heads import Head, heads
from tests.learning.catalogs import ENTITY, put
from tests.support.builders import make_artifact, make_thread
from tests.support.cast import Cast

pytestmark = pytest.mark.django_db


def artifact_id(key: str) -> str:
    return core.address_id("skills", ENTITY, key)


def shown(workspace: Workspace) -> dict[str, str]:
    return {each.key: each.text for each in heads(workspace.pk, ENTITY, ["skills"])}


def test_each_revision_has_its_record(cast: Cast) -> None:
    cast.ana.commit(put("steps", "one", type="list"))
    cast.ana.commit(put("steps", "two", 1))
    cast.ben.commit(core.ArchiveArtifact(artifact_id=artifact_id("steps"), base_version=2))
    cast.ana.commit(
        core.RevertArtifact(artifact_id=artifact_id("steps"), base_version=3, to_version=1)
    )
    records = list(Record.objects.order_by("seq").select_related("revision"))
    assert [each.seq for each in records] == [1, 2, 3, 4]
    assert [each.revision.version for each in records if each.revision] == [1, 2, 3, 4]
    assert {(each.collection, each.collection_version, each.entity, each.key, each.type)
            for each in records} == {("skills", 1, ENTITY, "steps", "list")}  # fmt: skip
    assert {each.text for each in records} == {""}, "the text stays in the revision"
    assert core.actor_adapter.validate_json(records[2].actor) == cast.ben.actor


def test_an_artifact_without_address_has_no_record(
    cast: Cast, django_assert_num_queries: Callable[[int], Any]
) -> None:
    make_artifact(cast.ana)
    assert not Record.objects.exists()


def test_heads_follow_what_is_in_force(cast: Cast) -> None:
    cast.ana.commit_all([put("steps", "one"), put("pitfalls", "none")])
    assert shown(cast.ana) == {"pitfalls": "none", "steps": "one"}
    cast.ana.commit(put("steps", "two", 1))
    assert shown(cast.ana) == {"pitfalls": "none", "steps": "two"}
    cast.ana.commit(core.ArchiveArtifact(artifact_id=artifact_id("steps"), base_version=2))
    assert shown(cast.ana) == {"pitfalls": "none"}
    revert = core.RevertArtifact(artifact_id=artifact_id("steps"), base_version=3, to_version=1)
    cast.ana.commit(revert)
    assert shown(cast.ana) == {"pitfalls": "none", "steps": "one"}
    assert RecordText.objects.count() == CurrentRecord.objects.count() == 2


def test_a_pending_proposal_is_no_head(cast: Cast) -> None:
    cast.scribe(make_thread(cast.ana)).commit(put("steps", "drafted"))
    assert shown(cast.ana) == {}
    assert not Record.objects.exists()


def test_a_batch_on_one_address_leaves_its_last_version(cast: Cast) -> None:
    cast.ana.commit_all([put("steps", "one"), put("steps", "two", 1), put("steps", "three", 2)])
    assert shown(cast.ana) == {"steps": "three"}
    assert Record.objects.count() == 3


def test_a_head_names_its_record_and_the_run_that_wrote_it(cast: Cast) -> None:
    cast.ana.commit(put("steps", "one"))
    promoted = cast.ana.commit_all(
        [put("pitfalls", "none"), put("examples", "some")], origin="promotion"
    )
    back = cast.ana.commit_all([put("examples", "others", 1)], origin="rollback")
    batch = cast.ana.commit_all([put("notes", "x")], origin="batch")
    assert batch.change_set_id
    found: dict[str, Head] = {each.key: each for each in heads(cast.ana.pk, ENTITY, ["skills"])}
    assert {key: each.run_id for key, each in found.items()} == {
        "steps": None,
        "pitfalls": promoted.change_set_id,
        "examples": back.change_set_id,
        "notes": None,
    }
    record = Record.objects.get(public_id=found["examples"].record_id)
    assert record.revision is not None
    assert record.revision.version == found["examples"].version == 2


def test_heads_are_of_one_entity_in_the_order_of_their_collections(cast: Cast) -> None:
    cast.ana.commit_all(
        [
            put("b", "skill b"), put("a", "skill a"),
            put("a", "copy a", collection="copies"),
            put("a", "somebody else's", entity="agent:bob"),
        ]
    )  # fmt: skip
    cast.otto.commit(put("a", "another tenant's"))
    found = heads(cast.ana.pk, ENTITY, ["copies", "skills"])
    assert [each.text for each in found] == ["copy a", "skill a", "skill b"]


def test_hidden_artifacts_are_no_heads(cast: Cast) -> None:
    cast.ana.commit_all([put("steps", "one"), put("pitfalls", "none")])
    hidden = Hidden(artifacts=frozenset({artifact_id("steps")}))
    assert [each.key for each in heads(cast.ana.pk, ENTITY, ["skills"], hidden)] == ["pitfalls"]


@pytest.mark.parametrize("count", [1, 20])
def test_heads_are_read_in_one_statement(
    cast: Cast, count: int, django_assert_num_queries: Callable[[int], Any]
) -> None:
    cast.ana.commit_all([put(f"k{number}", "x") for number in range(count)])
    with django_assert_num_queries(1):
        assert len(heads(cast.ana.pk, ENTITY, ["skills", "copies"])) == count


def test_the_longest_address_is_kept(cast: Cast) -> None:
    """Characters of many bytes, as random as text gets: an index must not refuse them."""
    wide = "".join(chr(0x20000 + (n * 7919) % 40_000) for n in range(500))
    command = put(wide[::-1], "x", entity=wide, collection="c" * 128)
    cast.ana.commit(command)
    [head] = heads(cast.ana.pk, wide, ["c" * 128])
    assert head.key == wide[::-1]
