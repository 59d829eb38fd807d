"""Every rule of a catalog has its own name and words, and all that is wrong is told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from artifacts.core import registered_kinds
from artifacts.core.limits import DEFAULT_LIMITS, Limits
from learning.catalog.loader import load
from learning.core.problems import Problem
from tests.learning.catalogs import Catalog, catalog, files

Change = Callable[[Catalog], Any]


def problems_in(made: dict[str, str], limits: Limits = DEFAULT_LIMITS) -> list[Problem]:
    loaded = load(made, limits=limits, kinds=frozenset(registered_kinds()), known=lambda keys: {})
    return loaded.problems


def problems(change: Change) -> list[Problem]:
    changed = catalog()
    change(changed)
    return problems_in(files(changed))


def recipe(catalog: Catalog, name: str = "prompt") -> Any:
    return next(each for each in catalog["artifacts"] if each["name"] == name)


def collection(catalog: Catalog, name: str) -> Any:
    return next(each for each in catalog["collections"] if each["name"] == name)


def second(catalog: Catalog, section: str, **members: Any) -> Any:
    """A further definition, a copy of the first one with other members."""
    made = {**catalog[section][0], "name": "second", **members}
    catalog[section].append(made)
    catalog["package"][section].append(f"{made['name']}@{made['version']}")
    return made


def test_the_base_is_right() -> None:
    assert problems(lambda c: None) == []


# Declaring what should learn: rule, change, what the message says.
LEARNING: list[tuple[str, Change, str]] = [
    (
        "learning_without_artifact",
        lambda c: recipe(c)["learning"].pop("artifact"),
        "learning needs artifact",
    ),
    (
        "learning_without_target_block",
        lambda c: recipe(c)["learning"].pop("target_block"),
        "learning needs target_block",
    ),
    (
        "learning_block_unknown",
        lambda c: recipe(c)["learning"].update(target_block="other"),
        "no block 'other'",
    ),
    (
        "learning_block_view",
        lambda c: (recipe(c)["learning"].update(target_block="history"),
                   recipe(c)["blocks"]["history"].update(required=True)),
        "is a view",
    ),
    (
        "learning_block_status",
        lambda c: recipe(c)["blocks"]["skill"]["document"].update(status="all"),
        "must read status 'active'",
    ),
    (
        "learning_block_status",
        lambda c: recipe(c)["blocks"]["skill"]["document"].update(status="draft"),
        "must read status 'active'",
    ),
    (
        "learning_block_optional",
        lambda c: recipe(c)["blocks"]["skill"].update(required=False),
        "must be required",
    ),
    (
        "learning_artifact_inexact",
        lambda c: recipe(c)["learning"].update(artifact="skill"),
        "exact reference",
    ),
    (
        "learning_artifact_inexact",
        lambda c: recipe(c)["learning"].update(artifact="skill@>=1"),
        "exact reference",
    ),
    (
        "learning_artifact_live",
        lambda c: recipe(c)["learning"].update(artifact="prompt@1"),
        "is live",
    ),
    (
        "learning_artifact_collections",
        lambda c: recipe(c)["blocks"]["skill"]["document"].update(collections=["copies"]),
        "does not maintain 'copies'",
    ),
    (
        "learning_artifact_unlisted",
        lambda c: recipe(c)["learning"].update(artifact="skill@2"),
        "not listed by the package",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "change", "words"), LEARNING, ids=[f"{n}-{each[0]}" for n, each in enumerate(LEARNING)]
)
def test_what_learns_names_an_exact_base(rule: str, change: Change, words: str) -> None:
    [problem] = problems(change)
    assert problem.rule == rule
    assert words in problem.message
    assert problem.file == "artifacts/all.yaml"
    assert problem.line > 1


def test_each_rule_of_learning_has_words_of_its_own() -> None:
    said = {rule: problems(change)[0].message for rule, change, _ in LEARNING}
    assert len(set(said.values())) == len({rule for rule, *_ in LEARNING}) == 10


def test_all_problems_of_a_package_are_told_at_once() -> None:
    def change(c: Catalog) -> None:
        recipe(c)["learning"] = {"target_block": "history", "artifact": "prompt@1"}
        recipe(c)["blocks"]["skill"]["max_tokens"] = 0
        recipe(c, "skill")["complete_keys"] = ["steps", "steps"]
        collection(c, "outcomes")["schema"] = {"type": "strin"}
        c["derivations"][0]["emit"]["review"] = "none"
        c["views"][0]["scope"]["where"] = {"nothing": "x"}

    found = problems(change)
    rules = {each.rule for each in found}
    assert rules >= {"form", "reviewed_keys_twice", "schema", "emit_review", "field_unknown"}
    assert {each.file.split("/")[0] for each in found} == {
        "artifacts", "collections", "derivations", "views",
    }  # fmt: skip


OTHERS: list[tuple[str, Change]] = [
    ("block_source", lambda c: recipe(c)["blocks"]["skill"].update(view="recent@1")),
    ("block_source", lambda c: recipe(c)["blocks"]["history"].pop("view")),
    ("block_unused", lambda c: recipe(c).update(template="{{skill}}")),
    ("block_params", lambda c: recipe(c)["blocks"]["skill"].update(params={"a": 1})),
    ("placeholder_unknown", lambda c: recipe(c).update(template="{{skill}}{{history}}{{who}}")),
    ("placeholder_form", lambda c: recipe(c).update(template="{{skill}}{{history}}{{ }}")),
    (
        "placeholder_unknown",
        lambda c: recipe(c)["blocks"]["skill"]["document"].update(entity="{{who}}"),
    ),
    ("name_twice", lambda c: recipe(c)["parameters"].update(skill={"type": "string"})),
    (
        "parameter_default",
        lambda c: recipe(c)["parameters"].update(n={"type": "integer", "default": "x"}),
    ),
    (
        "parameter_default",
        lambda c: recipe(c)["parameters"].update(n={"type": "integer", "default": True}),
    ),
    ("view_unlisted", lambda c: recipe(c)["blocks"]["history"].update(view="recent@2")),
    ("argument_unknown", lambda c: recipe(c)["blocks"]["history"]["params"].update(more="x")),
    ("argument_missing", lambda c: recipe(c)["blocks"]["history"].update(params={})),
    (
        "document_events",
        lambda c: recipe(c, "skill")["blocks"].update(
            more={"document": {"entity": "x", "collections": ["notes"]}, "max_tokens": 1}
        )
        or recipe(c, "skill").update(template="{{skill}}{{more}}"),
    ),
    ("live_member", lambda c: recipe(c).update(complete_keys=["a"])),
    ("live_member", lambda c: recipe(c).update(candidate_processor="improve@1")),
    ("reviewed_keys", lambda c: recipe(c, "skill").pop("complete_keys")),
    ("maintained_twice", lambda c: second(c, "artifacts", **{
        **{k: v for k, v in recipe(c, "skill").items() if k != "name"}, "learning": None,
        "snapshot": None})),
    ("derivation_unlisted", lambda c: recipe(c, "skill").update(candidate_processor="improve@2")),
    ("collection_unlisted", lambda c: recipe(c)["snapshot"].update(collection="other")),
    ("snapshot_events", lambda c: recipe(c)["snapshot"].update(collection="notes")),
    (
        "collection_unlisted",
        lambda c: c["views"][0]["scope"]["collections"].append("other"),
    ),
    ("kind_event", lambda c: collection(c, "notes").update(kind="maintained_value")),
    ("kind_unknown", lambda c: collection(c, "copies").update(kind="no_such_kind")),
    (
        "field_unused",
        lambda c: collection(c, "notes").update(
            fields={"a": {"path": "content.a", "type": "string"}}
        ),
    ),
    ("schema", lambda c: collection(c, "notes").update(schema={"$ref": "https://x.example/s"})),
    ("schema", lambda c: collection(c, "notes").update(schema={"$ref": "#/$defs/none"})),
    ("schema", lambda c: collection(c, "notes").update(schema={"$id": "https://x.example"})),
    ("schema", lambda c: collection(c, "notes").update(schema={"pattern": "(?=a)"})),
    (
        "schema",
        lambda c: collection(c, "notes").update(
            schema={"$schema": "http://json-schema.org/draft-07/schema#"}
        ),
    ),
    ("field_not_filter", lambda c: c["views"][0]["scope"].update(where={"shown": "x"})),
    ("field_not_sort", lambda c: c["views"][0].update(order={"by": "field", "field": "final"})),
    ("order_incomplete", lambda c: c["views"][0].update(order={"by": "rank"})),
    ("order_member", lambda c: c["views"][0].update(order={"by": "recency", "query": "x"})),
    (
        "one_driver",
        lambda c: c["derivations"][0]["sources"]["evidence"].update(kind="record"),
    ),
    (
        "one_driver",
        lambda c: c["derivations"][0]["sources"]["skill"].update(kind="snapshot"),
    ),
    ("emit_review", lambda c: c["derivations"][0]["emit"].pop("review")),
    ("emit_keys", lambda c: (c["derivations"][0]["emit"].pop("keys"),
                             c["derivations"][0]["emit"].pop("complete"))),
    ("limit_model_calls", lambda c: c["derivations"][0].update(limits={"model_calls": 0})),
    ("name_twice", lambda c: c["derivations"][0]["tasks"][0].update(name="skill")),
    ("schema", lambda c: c["derivations"][0]["tasks"][0].update(output_schema={"type": 1})),
    ("listed_missing", lambda c: c["package"]["views"].append("more@1")),
    ("listed_twice", lambda c: c["package"]["views"].append("recent@1")),
    ("active_twice", lambda c: second(c, "views", name="recent", version=2)),
    ("unlisted", lambda c: c["package"]["collections"].remove("copies@1")
     or recipe(c).pop("snapshot")),
    ("defined_twice", lambda c: c["views"].append(c["views"][0])),
    ("tokens", lambda c: recipe(c)["blocks"]["history"].update(max_tokens=49_500)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "change"), OTHERS, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(OTHERS)]
)
def test_each_other_rule(rule: str, change: Change) -> None:
    found = problems(change)
    assert {each.rule for each in found} == {rule}
    assert all(each.line > 0 and each.message for each in found)


FORMS: list[tuple[Change, str]] = [
    (lambda c: recipe(c).update(colour="red"), "colour: Extra inputs"),
    (lambda c: recipe(c).pop("kind"), "kind: Field required"),
    (lambda c: recipe(c).update(version="1"), "version: Input should be a valid integer"),
    (lambda c: recipe(c)["blocks"]["skill"].update(required="yes"), "blocks.skill.required"),
    (lambda c: recipe(c)["blocks"]["skill"].pop("max_tokens"), "blocks.skill.max_tokens"),
    (lambda c: recipe(c)["blocks"].clear(), "blocks: Dictionary should have at least 1 item"),
    (lambda c: recipe(c).update(lifecycle="dead"), "lifecycle: Input should be 'live'"),
    (lambda c: recipe(c).update(kind="Not a name"), "kind: String should match"),
    (lambda c: recipe(c)["blocks"]["history"].update(view="recent"), "blocks.history.view"),
    (
        lambda c: c["derivations"][0]["sources"]["evidence"].update(entity="x"),
        "sources.evidence.entity: Extra inputs",
    ),
    (
        lambda c: c["derivations"][0]["sources"]["evidence"].pop("max_tokens"),
        "sources.evidence.max_tokens: Field required",
    ),
    (lambda c: c["derivations"][0]["sources"]["evidence"].update(kind="all"), "sources.evidence"),
    (lambda c: c["views"][0].update(limit=501), "limit: Input should be less than"),
    (
        lambda c: recipe(c)["blocks"]["history"]["params"].update(entity=["x"]),
        "blocks.history.params.entity: Value error, must be a text, a number, true or false",
    ),
]


@pytest.mark.parametrize(("change", "words"), FORMS, ids=[words for _, words in FORMS])
def test_a_wrong_form_is_told_where_it_stands(change: Change, words: str) -> None:
    [problem] = problems(change)
    assert problem.rule == "form"
    assert problem.message.startswith(words)


def test_a_problem_names_its_line() -> None:
    changed = catalog()
    recipe(changed)["blocks"]["skill"]["required"] = False
    made = files(changed)
    [problem] = problems_in(made)
    lines = made["artifacts/all.yaml"].splitlines()
    assert "target_block" in lines[problem.line - 1]
    assert problem.line_text.startswith(f"artifacts/all.yaml:{problem.line}: ")


@pytest.mark.parametrize(
    "name",
    ["skills.yaml", "../package.yaml", "artifacts/../x.yaml", "artifacts/a/b.yaml", "a\0.yaml",
     "artifacts/x.txt", "artifacts/.yaml", ""],
)  # fmt: skip
def test_a_file_in_the_wrong_place_is_told(name: str) -> None:
    found = problems_in({**files(catalog()), name: "artifacts: []"})
    assert {each.rule for each in found} == {"place"}


def test_limits_on_files() -> None:
    made = files(catalog())
    for limits, rule in (
        (Limits(catalog_files=2), "files"),
        (Limits(catalog_file_bytes=100), "file_size"),
        (Limits(catalog_bytes=1_000), "files"),
        (Limits(catalog_definitions=3), "definitions"),
    ):
        assert rule in {each.rule for each in problems_in(made, limits)}


def test_a_package_without_its_file() -> None:
    made = files(catalog())
    del made["package.yaml"]
    assert {each.rule for each in problems_in(made)} == {"package_missing"}


def test_a_file_that_holds_something_else() -> None:
    for text in ("", "[]", "views: {}", "artifacts: []\nviews: []", "x"):
        found = problems_in({**files(catalog()), "artifacts/more.yaml": text})
        assert "form" in {each.rule for each in found}, text


def test_a_schema_bomb_is_refused() -> None:
    defs: dict[str, Any] = {"a20": {}}
    for n in range(20):
        defs[f"a{n}"] = {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2}
    bomb = {"$ref": "#/$defs/a0", "$defs": defs}
    [problem] = problems(lambda c: collection(c, "notes").update(schema=bomb))
    assert (problem.rule, "unfolds" in problem.message) == ("schema", True)
    endless = {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}
    [problem] = problems(lambda c: collection(c, "notes").update(schema=endless))
    assert problem.message == "refers to itself"
