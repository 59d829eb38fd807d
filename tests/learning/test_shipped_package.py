"""The package that comes with the app is a working one."""

from __future__ import annotations

import pytest

from artifacts.workspace import Workspace
from learning.core.definitions import Recipe
from learning.core.errors import RequestSchema
from learning.models import Record
from learning.selectors.catalog import collections_in_force, definition
from learning.selectors.heads import heads
from learning.selectors.records import RecordQuery
from learning.services.catalog import apply_catalog, files_of_package
from learning.services.records import ingest, ingest_in, records
from tests.support.cast import make_cast

pytestmark = pytest.mark.django_db
FIELDS = {
    "signal_kind": ("content.signal.kind", "string", True, False, True),
    "signal_source": ("content.signal.source", "string", True, False, True),
    "signal_label": ("content.signal.label", "string", True, False, True),
    "signal_score": ("content.signal.score", "number", True, True, True),
    "target_artifact": ("content.artifact_use.artifact.name", "string", True, False, True),
}


@pytest.fixture
def workspace() -> Workspace:
    workspace = make_cast().ana
    apply_catalog(workspace, files_of_package("skills"))
    return workspace


def signal(**changed: object) -> dict[str, object]:
    content = {
        "text": "thumbs_down from end_user on daily_agent_prompt@1",
        "artifact_use": {
            "id": "use_" + "0" * 32,
            "artifact": {
                "name": "daily_agent_prompt", "version": 1, "definition_hash": "0" * 64,
            },
            "render_sha256": "1" * 64,
            "snapshot_id": None,
            "learning_target": None,
        },
        "signal": {"kind": "thumbs_down", "source": "end_user", "score": 0.2},
        "evidence": {"comment": "It said the refund was complete."},
        **changed,
    }  # fmt: skip
    return {
        "collection": "learning_signals",
        "entity": "artifact:maintained_skill",
        "type": "thumbs_down",
        "text": str(content["text"]),
        "content": content,
    }


def test_the_signals_declare_five_fields(workspace: Workspace) -> None:
    found = collections_in_force(workspace.pk, ["learning_signals"])["learning_signals"]
    assert {
        name: (each.path, each.type, each.filter, each.sort, each.project)
        for name, each in found.definition.fields.items()
    } == FIELDS


def test_a_signal_fits_its_collection_and_is_found_by_it(workspace: Workspace) -> None:
    [taken] = ingest(workspace, [signal()])
    query = RecordQuery(
        collection=("learning_signals",),
        where=("signal_kind=thumbs_down", "target_artifact=daily_agent_prompt", "signal_score<0.5"),
    )
    [found] = records(workspace, query)
    assert found.id == taken.record_id
    assert found.fields == {
        "signal_kind": "thumbs_down", "signal_source": "end_user", "signal_score": 0.2,
        "target_artifact": "daily_agent_prompt",
    }  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {"signal": {"kind": "shrug", "source": "end_user"}},
        {"signal": {"kind": "thumbs_up", "source": "nobody"}},
        {"signal": {"kind": "thumbs_up", "source": "end_user", "score": 1.5}},
        {"signal": {"kind": "thumbs_up", "source": "end_user", "label": None}},
        {"signal": {"kind": "thumbs_up"}},
        {"artifact_use": {"id": "use_1"}},
        {"more": 1},
    ],
)
def test_a_signal_of_another_form_does_not(
    workspace: Workspace, changed: dict[str, object]
) -> None:
    with pytest.raises(RequestSchema):
        ingest(workspace, [signal(**changed)])
    assert not Record.objects.exists()


def test_a_skill_is_maintained_by_its_keys(workspace: Workspace) -> None:
    info = definition(workspace, "artifact", "maintained_skill")
    recipe = Recipe.model_validate(info.body)
    assert recipe.maintained == {"skills"}
    assert recipe.complete_keys is not None
    value = {"collection": "skills", "entity": "agent:ada", "text": "x"}
    ingest(workspace, [{**value, "key": key} for key in recipe.complete_keys])
    assert {each.key for each in heads(workspace.pk, "agent:ada", ["skills"])} == {
        "steps", "pitfalls", "examples",
    }  # fmt: skip


def test_a_copy_of_a_render_fits(workspace: Workspace) -> None:
    copy = {
        "collection": "prompt_snapshots", "entity": "agent:ada", "key": "daily_agent_prompt",
        "type": "prompt_snapshot", "text": "daily_agent_prompt@1",
        "content": {"render_sha256": "0" * 64, "content": "…", "tokens": 3, "truncated": False},
    }  # fmt: skip
    with workspace.transaction() as tx:
        [taken] = ingest_in(tx, [copy], namespace="use", as_records=True)
    [head] = heads(workspace.pk, "agent:ada", ["prompt_snapshots"])
    assert (head.record_id, head.artifact_id) == (taken.record_id, None)
