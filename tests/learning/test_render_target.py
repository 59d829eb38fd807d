"""What feedback should improve: every case of heads and runs."""

from __future__ import annotations

from typing import Any

import pytest

from learning.core.render import Found, Identity, Row
from learning.core.target import learning_target
from tests.learning.recipes import document, head, recipe, rendered, view

IMPROVED = Identity("skill", 1, "cd" * 32)


def target(*rows: Row, max_tokens: int = 1_000) -> dict[str, Any] | None:
    made = recipe(blocks={"skill": document(max_tokens=max_tokens), "history": view()})
    return learning_target(
        made, rendered(made, skill=Found(rows, "agent:ada")), IMPROVED, kind="skill"
    )


def test_it_names_recipe_entity_block_and_every_head() -> None:
    found = target(head("steps", run_id="chs_1"), head("pitfalls", run_id="chs_1"))
    assert found == {
        "artifact": {
            "name": "skill", "version": 1, "definition_hash": "cd" * 32, "kind": "skill",
        },
        "entity": "agent:ada",
        "block": "skill",
        "heads": [
            {"collection": "skills", "key": "steps", "record_id": "rec_steps", "run_id": "chs_1"},
            {
                "collection": "skills", "key": "pitfalls", "record_id": "rec_pitfalls",
                "run_id": "chs_1",
            },
        ],
        "base_run_id": "chs_1",
    }  # fmt: skip


@pytest.mark.parametrize(
    "runs", [("chs_1", "chs_2"), ("chs_1", None), (None, None)], ids=["two", "one of two", "none"]
)
def test_without_a_shared_run_there_is_no_base_and_all_heads_stay(
    runs: tuple[str | None, str | None],
) -> None:
    found = target(*(head(f"k{n}", run_id=run) for n, run in enumerate(runs)))
    assert found is not None
    assert found["base_run_id"] is None
    assert [each["run_id"] for each in found["heads"]] == list(runs)


def test_without_a_head_there_is_no_target() -> None:
    assert target() is None


def test_only_heads_that_are_shown_are_named() -> None:
    found = target(head("steps"), head("pitfalls", "x" * 400), max_tokens=20)
    assert found is not None
    assert [each["key"] for each in found["heads"]] == ["steps"]
