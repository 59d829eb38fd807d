"""What blocks read from a workspace: values in force, drafts and history, and what views select."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

from artifacts import access, core
from artifacts.access import Access
from artifacts.workspace import Workspace
from learning.core.errors import ArtifactNotFound
from learning.core.render import Render
from learning.core.render_errors import ArtifactBlock, ArtifactParameter
from learning.services.records import ingest
from learning.services.render import render_artifact
from tests.learning.catalogs import ENTITY, Catalog, apply, catalog, put
from tests.support.builders import make_thread
from tests.support.cast import VERA, Cast
from tests.support.wire import counted

pytestmark = pytest.mark.django_db


def outcome(text: str, **members: Any) -> dict[str, Any]:
    return {"collection": "outcomes", "entity": ENTITY, "type": "failure", "text": text, **members}


def shown(workspace: Workspace, **parameters: Any) -> Render:
    return render_artifact(workspace, "prompt", {"entity": ENTITY, **parameters}).render


def texts(render: Render, block: str) -> list[str]:
    return [row.text for row in render.blocks[block].rows]


def changed(
    cast: Cast,
    version: int = 2,
    *,
    recipe: dict[str, Any] | None = None,
    skill: dict[str, Any] | None = None,
    history: dict[str, Any] | None = None,
    view: dict[str, Any] | None = None,
) -> None:
    """Put another version of the recipe in force, with other blocks or on another view."""
    made: Catalog = catalog()
    prompt = made["artifacts"][0]
    prompt.update({"version": version, **(recipe or {})})
    prompt["blocks"]["skill"].update(skill or {})
    prompt["blocks"]["history"].update(history or {})
    made["package"].update({"version": version, "artifacts": [f"prompt@{version}", "skill@1"]})
    if view is not None:
        made["views"][0].update({"version": 2, **view})
        prompt["blocks"]["history"]["view"] = "recent@2"
        made["package"]["views"] = ["recent@2"]
    apply(cast.ana, made)


# Documents


def test_a_document_shows_the_values_in_force_in_the_order_of_their_owner(cast: Cast) -> None:
    cast.ana.commit_all([put("another", "c"), put("pitfalls", "b"), put("steps", "a")])
    assert [row.key for row in shown(cast.ana).blocks["skill"].rows] == [
        "steps", "pitfalls", "another",
    ]  # fmt: skip


def test_older_and_archived_versions_are_not_in_force(cast: Cast) -> None:
    cast.ana.commit_all([put("steps", "old"), put("pitfalls", "gone")])
    cast.ana.commit(put("steps", "new", 1))
    gone = core.address_id("skills", ENTITY, "pitfalls")
    cast.ana.commit(core.ArchiveArtifact(artifact_id=gone, base_version=1))
    render = shown(cast.ana)
    assert texts(render, "skill") == ["new"]
    [row] = render.blocks["skill"].rows
    assert (row.artifact_id, row.version) == (core.address_id("skills", ENTITY, "steps"), 2)


def test_a_draft_never_renders_as_a_value_in_force(cast: Cast) -> None:
    cast.ana.commit(put("steps", "in force"))
    scribe = cast.scribe(make_thread(cast.ana))
    scribe.commit(put("steps", "drafted", 1))
    scribe.commit(put("pitfalls", "drafted too"))
    assert texts(shown(cast.ana), "skill") == ["in force"]


def unlearned(status: str) -> dict[str, Any]:
    """A block of another status cannot learn, so the recipe does not."""
    document = {"entity": "{{entity}}", "collections": ["skills"], "status": status}
    return {"recipe": {"learning": None}, "skill": {"document": document}}


def test_a_block_of_drafts_shows_what_is_pending_newest_first(cast: Cast) -> None:
    changed(cast, **unlearned("draft"))
    cast.ana.commit(put("steps", "in force"))
    scribe = cast.scribe(make_thread(cast.ana))
    drafts = [scribe.commit(put("steps", "first", 1)), scribe.commit(put("pitfalls", "second"))]
    scribe.commit(put("steps", "of somebody else", entity="agent:bob"))
    rows = shown(cast.ana).blocks["skill"].rows
    assert [(row.text, row.key, row.status, row.record_id) for row in rows] == [
        ("second", "pitfalls", "draft", None), ("first", "steps", "draft", None),
    ]  # fmt: skip
    assert [row.proposal_id for row in rows] == [
        each.proposal_id for each in reversed(drafts) if isinstance(each, core.Proposed)
    ]
    for draft in drafts:
        assert isinstance(draft, core.Proposed)
        cast.ana.commit(core.RespondToProposal(proposal_id=draft.proposal_id, decision="reject"))
    assert shown(cast.ana, entity="agent:nobody").blocks["skill"].rows == ()


def test_a_block_of_all_shows_history_too_newest_first(cast: Cast) -> None:
    changed(cast, **unlearned("all"))
    cast.ana.commit(put("steps", "one"))
    cast.ana.commit(put("steps", "two", 1))
    cast.scribe(make_thread(cast.ana)).commit(put("steps", "three", 2))
    rows = shown(cast.ana).blocks["skill"].rows
    assert [(row.text, row.status) for row in rows] == [
        ("three", "draft"), ("two", "active"), ("one", "superseded"),
    ]  # fmt: skip


def test_all_documents_are_read_in_one_statement(cast: Cast) -> None:
    other = {"entity": "agent:bob", "collections": ["skills", "copies"]}
    blocks = {
        **catalog()["artifacts"][0]["blocks"],
        "peer": {"document": other, "max_tokens": 100},
        "old": {"document": {**other, "status": "all"}, "max_tokens": 100},
    }
    template = "{{skill}}{{history}}{{peer}}{{old}}"
    changed(cast, recipe={"blocks": blocks, "template": template, "learning": None})
    cast.ana.commit_all([put("steps", "mine"), put("steps", "bob's", entity="agent:bob")])
    shown(cast.ana)  # what is referred to is known from now on
    with counted() as wire:
        render = shown(cast.ana)
    assert len(wire.statements) == 3, "the recipe, all documents, the view"
    assert (texts(render, "skill"), texts(render, "peer"), texts(render, "old")) == (
        ["mine"], ["bob's"], ["bob's"],
    )  # fmt: skip


@pytest.mark.parametrize("count", [10, 100])
def test_a_render_costs_the_same_statements_at_any_number_of_rows(cast: Cast, count: int) -> None:
    cast.ana.commit_all([put(f"k{number}", "x") for number in range(count)])
    ingest(cast.ana, [outcome("x") for _ in range(count)])
    shown(cast.ana)
    with counted() as wire:
        render = shown(cast.ana)
    assert len(wire.statements) == 3
    assert len(render.blocks["skill"].rows) == count


def test_no_render_reads_more_rows_than_the_limit(cast: Cast) -> None:
    cast.ana.commit_all([put(f"k{number}", "x") for number in range(8)])
    ingest(cast.ana, [outcome(f"o{number}") for number in range(8)])
    with override_settings(ARTIFACTR={"LIMITS": {"bind_rows": 10}}):
        render = shown(cast.ana)
    found = {name: (block.found, block.cut_by) for name, block in render.blocks.items()}
    assert found == {"skill": (8, None), "history": (2, "rows")}
    with override_settings(ARTIFACTR={"LIMITS": {"bind_rows": 5}}):
        render = shown(cast.ana)
    found = {name: (block.found, block.cut_by) for name, block in render.blocks.items()}
    assert found == {"skill": (5, "rows"), "history": (0, "rows")}
    assert render.truncated


def test_hidden_values_are_not_there(cast: Cast) -> None:
    cast.ana.commit_all([put("steps", "open"), put("pitfalls", "hidden")])
    vera = replace(cast.ana, actor=VERA, access=Access(actor=VERA, role="viewer"))
    access.forget_hidden()
    try:
        with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hide"}):
            assert texts(shown(vera), "skill") == ["open"]
    finally:
        access.forget_hidden()
    assert texts(shown(cast.ana), "skill") == ["open", "hidden"]


def hide(actor: core.Actor, workspace: Any) -> core.Hidden:
    return core.Hidden(artifacts=frozenset({core.address_id("skills", ENTITY, "pitfalls")}))


def test_another_workspace_has_its_own_values_and_recipes(cast: Cast) -> None:
    cast.ana.commit(put("steps", "ours"))
    with pytest.raises(ArtifactNotFound):
        shown(cast.otto)
    apply(cast.otto)
    cast.otto.commit(put("steps", "theirs"))
    assert texts(shown(cast.otto), "skill") == ["theirs"]


@pytest.mark.parametrize("name", ["", "nothing", "x" * 300, "a\0b", "prompt@1"])
def test_an_unknown_recipe_is_not_found(cast: Cast, name: str) -> None:
    with pytest.raises(ArtifactNotFound):
        render_artifact(cast.ana, name, {})


def test_parameters_are_checked_before_anything_is_read(cast: Cast) -> None:
    shown_first = catalog()["artifacts"][0]["name"]
    with counted() as wire, pytest.raises(ArtifactParameter):
        render_artifact(cast.ana, shown_first, {"entity": 7})
    assert not any("currentrecord" in statement for statement in wire.statements)


# Views


def test_a_view_selects_by_recency_up_to_its_limit(cast: Cast) -> None:
    changed(cast, view={"limit": 2})
    cast.ana.commit(put("steps", "x"))
    ingest(cast.ana, [outcome(f"o{number}") for number in range(4)])
    ingest(cast.ana, [outcome("of somebody else", entity="agent:bob")])
    render = shown(cast.ana)
    assert texts(render, "history") == ["o3", "o2"]
    assert not render.truncated, "a view's own limit is a selection and cuts nothing"


def test_a_view_selects_by_type_and_declared_fields(cast: Cast) -> None:
    scope = {
        "entity": "{{entity}}",
        "collections": ["outcomes"],
        "types": ["failure"],
        "where": {"label": "late", "final": True},
    }
    changed(cast, view={"scope": scope})
    cast.ana.commit(put("steps", "x"))
    late = {"label": "late", "final": True}
    ingest(
        cast.ana,
        [
            outcome("hit", content=late),
            outcome("other type", content=late, type="success"),
            outcome("other label", content={**late, "label": "early"}),
            outcome("other final", content={**late, "final": False}),
            outcome("no fields"),
        ],
    )
    assert texts(shown(cast.ana), "history") == ["hit"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ({"field": "score", "direction": "asc"}, ["low", "high", "none"]),
        ({"field": "score"}, ["high", "low", "none"]),
        ({"field": "label", "direction": "asc"}, ["high", "low", "none"]),
    ],
)
def test_a_view_orders_by_a_declared_field(
    cast: Cast, order: dict[str, str], expected: list[str]
) -> None:
    changed(cast, view={"order": {"by": "field", **order}})
    cast.ana.commit(put("steps", "x"))
    ingest(
        cast.ana,
        [
            outcome("none"),
            outcome("high", content={"score": 0.9, "label": "a"}),
            outcome("low", content={"score": 0.1, "label": "b"}),
        ],
    )
    assert texts(shown(cast.ana), "history") == expected


def test_a_view_ranks_by_how_well_texts_answer(cast: Cast) -> None:
    parameters = {"entity": {"type": "string"}, "task": {"type": "string"}}
    changed(
        cast,
        recipe={"parameters": parameters},
        history={"params": {"entity": "{{entity}}", "task": "{{task}}"}},
        view={"parameters": parameters, "order": {"by": "rank", "query": "{{task}}"}},
    )
    cast.ana.commit(put("steps", "x"))
    ingest(
        cast.ana,
        [
            outcome("the refund was late and the refund was wrong"),
            outcome("nothing of the kind"),
            outcome("a refund"),
        ],
    )
    wanted = 'refund OR "late" NOT (x) - :* &'
    found = texts(shown(cast.ana, task=wanted), "history")
    assert found == ["the refund was late and the refund was wrong", "a refund"]
    assert texts(shown(cast.ana, task="!!! ((("), "history") == []


def test_a_view_of_values_shows_those_in_force(cast: Cast) -> None:
    changed(cast, view={"scope": {"entity": "{{entity}}", "collections": ["skills"]}})
    cast.ana.commit(put("steps", "old"))
    cast.ana.commit(put("steps", "new", 1))
    assert texts(shown(cast.ana), "history") == ["new"]


def test_a_view_that_cannot_be_read_fails_its_block(cast: Cast) -> None:
    view = {
        "scope": {"entity": "{{who}}", "collections": ["outcomes"]},
        "parameters": {"who": {"type": "string", "required": False}},
    }
    changed(cast, history={"params": {}}, view=view)
    cast.ana.commit(put("steps", "x"))
    history = shown(cast.ana).blocks["history"]
    assert history.error is not None
    assert "recent@2" in history.error
    assert history.rows == ()
    changed(cast, 3, history={"params": {}, "required": True}, view=view)
    with pytest.raises(ArtifactBlock, match="history"):
        shown(cast.ana)
