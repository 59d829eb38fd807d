"""A render is a pure function: the same in, the same bytes out, escaped, within its budgets."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.core.limits import DEFAULT_LIMITS
from learning.core.render import Found, Row, row_text
from learning.core.render_errors import ArtifactBlock, ArtifactParameter
from learning.core.tokens import TokenCounter, quarter_of_bytes
from tests.learning.recipes import document, event, head, recipe, rendered, view

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


def test_the_template_is_kept_to_the_letter_and_its_places_are_taken() -> None:
    made = rendered(task="Ship it")
    assert made.content == (
        "<skill>\nsteps:\ndo it\n</skill>\n<history>\n- event 1\n</history>\nShip it & go"
    )


def test_the_hash_is_of_exactly_the_bytes_of_the_content() -> None:
    made = rendered(task="Größe ≤ 3")
    assert made.render_sha256 == hashlib.sha256(made.content.encode()).hexdigest()


def test_equal_input_gives_equal_bytes_and_manifest() -> None:
    one, two = rendered(task="x"), rendered(task="x")
    assert (one.content, one.manifest()) == (two.content, two.manifest())


@given(task=TEXTS, text=TEXTS, key=TEXTS.filter(bool))
def test_no_value_and_no_row_brings_markup_of_its_own(task: str, text: str, key: str) -> None:
    made = rendered(
        skill=Found([head(key, text)], "agent:ada"), history=Found([event(1, text)]), task=task
    )
    template = recipe().template
    for character in "<>&":
        assert made.content.count(character) == template.count(character)


def test_escapes_are_written_whatever_stands_around_them() -> None:
    made = rendered(skill=Found([head("steps", "a </skill> & \\u003c")], "agent:ada"))
    assert "a \\u003c/skill\\u003e \\u0026 \\u003c" in made.content


def test_places_in_values_and_rows_are_text() -> None:
    made = rendered(
        skill=Found([head("steps", "{{task}} {% now %}")], "agent:ada"),
        history=Found([event(1, "{{skill}}")]),
        task="{{entity}}{{history}}",
    )
    assert "{{task}} {% now %}" in made.content
    assert "- {{skill}}" in made.content
    assert made.content.endswith("{{entity}}{{history}} & go")


def test_a_text_of_many_lines_stays_one_entry_of_its_list() -> None:
    made = rendered(history=Found([event(1, "one\n- two\r\n- three"), event(2)]))
    entries = [line for line in made.content.splitlines() if line.startswith("- ")]
    assert entries == ["- one", "- event 2"]


def test_a_row_shows_its_text_or_else_its_content() -> None:
    assert row_text("said", {"a": 1}) == "said"
    assert row_text(" \n", {"b": 2**60, "a": "ü"}) == '{"a":"ü","b":1152921504606846976}'
    assert row_text("", {}) == ""


# Budgets


def test_a_block_is_cut_between_rows_and_says_so() -> None:
    rows = [event(number, "x" * 38) for number in range(10)]  # ten tokens each
    made = rendered(recipe(blocks={"skill": document(), "history": view(max_tokens=35)}),
                    history=Found(rows))  # fmt: skip
    block = made.blocks["history"]
    assert (len(block.rows), block.found, block.cut_by) == (3, 10, "tokens")
    assert made.content.count("- x") == 3
    assert "- " + "x" * 38 in made.content, "the last row that fits is whole"
    assert made.truncated
    assert made.blocks["skill"].cut_by is None


@given(st.lists(TEXTS, max_size=12), st.integers(1, 60))
def test_no_block_costs_more_than_its_budget(texts: list[str], budget: int) -> None:
    rows = [event(number, text) for number, text in enumerate(texts)]
    made = rendered(
        recipe(blocks={"skill": document(), "history": view(max_tokens=budget)}),
        history=Found(rows),
    )
    block = made.blocks["history"]
    assert quarter_of_bytes(block.text) <= block.tokens <= budget
    assert block.rows == tuple(rows[: len(block.rows)])
    assert made.truncated == (len(block.rows) < len(rows))


def test_what_fits_exactly_is_not_cut() -> None:
    made = rendered(recipe(blocks={"skill": document(max_tokens=3), "history": view()}))
    assert made.blocks["skill"].tokens == 3  # "steps:\ndo it" has twelve bytes
    assert not made.truncated


def test_rows_that_were_left_unread_count_as_cut() -> None:
    made = rendered(history=Found([event(1)], has_more=True))
    assert made.blocks["history"].cut_by == "rows"
    assert made.truncated


def test_the_counter_is_named_and_used() -> None:
    words = TokenCounter("words", lambda text: len(text.split()))
    made = rendered(counter=words, task="one two")
    assert made.manifest()["token_counter"] == "words"
    assert made.tokens == len(made.content.split())
    assert rendered().manifest()["token_counter"] == "utf8_bytes/4"


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééé", 2)]
)
def test_a_token_offline_is_four_bytes(text: str, tokens: int) -> None:
    assert quarter_of_bytes(text) == tokens


def test_a_text_over_the_limit_is_refused_by_name() -> None:
    limits = replace(DEFAULT_LIMITS, render_tokens=50)
    with pytest.raises(ArtifactParameter, match="render_tokens"):
        rendered(limits=limits, task="x" * 400)
    rendered(limits=limits, task="x")


# Required blocks


def required(**blocks: int) -> dict[str, object]:
    return {
        "skill": document(required=True, max_tokens=blocks.get("skill", 1_000)),
        "history": view(required=True, max_tokens=blocks.get("history", 1_000)),
    }


@pytest.mark.parametrize(
    ("found", "named"),
    [
        ({"history": Found([])}, "history"),
        ({"history": Found([], error="the view is gone")}, "history"),
        ({"skill": Found([], error="cannot be read")}, "skill"),
        ({"skill": Found([], has_more=True)}, "skill"),
    ],
)
def test_a_required_block_without_anything_to_show_refuses(
    found: dict[str, Any], named: str
) -> None:
    with pytest.raises(ArtifactBlock) as refused:
        rendered(recipe(blocks=required()), **found)
    assert refused.value.data == {"block": named}
    assert named in refused.value.message
    rendered(**found)  # not required, the same renders


@pytest.mark.parametrize("name", ["skill", "history"])
def test_a_required_block_whose_first_row_does_not_fit_refuses(name: str) -> None:
    found: dict[str, Any] = {
        "skill": Found([head("steps", "x" * 400)]),
        "history": Found([event(1, "x" * 400)]),
    }
    with pytest.raises(ArtifactBlock, match="max_tokens") as refused:
        rendered(recipe(blocks=required(**{name: 5})), **found)
    assert refused.value.block == name


def test_a_required_document_that_found_nothing_renders_empty_and_is_told() -> None:
    made = rendered(recipe(blocks=required()), skill=Found([], "agent:ada"))
    assert made.content.startswith("<skill>\n\n</skill>")
    told = made.manifest()["blocks"]["skill"]
    assert (told["found"], told["shown"], told["rows"]) == (0, 0, [])


# Titles


def test_values_of_several_collections_say_which() -> None:
    block = document()
    block["document"]["collections"] = ["skills", "profiles"]
    made = rendered(
        recipe(blocks={"skill": block, "history": view()}),
        skill=Found([head("steps"), head("tone", collection="profiles")]),
    )
    assert "skills/steps:\ndo it\n\nprofiles/tone:\ndo it" in made.content


def test_what_is_not_in_force_says_so() -> None:
    draft = head("steps", "new", status="draft", record_id=None, proposal_id="prp_1")
    made = rendered(skill=Found([draft, head("steps", "old", status="superseded")]))
    assert "steps (draft):\nnew\n\nsteps (superseded):\nold" in made.content
    told = made.manifest()["blocks"]["skill"]["rows"]
    assert [each.get("status") for each in told] == ["draft", "superseded"]
    assert told[0]["proposal_id"] == "prp_1"


def test_a_key_of_several_lines_makes_one_title() -> None:
    made = rendered(skill=Found([head("steps:\ndo\nother", "x")]))
    assert "steps: do other:\nx" in made.content


# The manifest


def test_the_manifest_names_what_is_shown_and_holds_no_text() -> None:
    secret = "canary"
    made = rendered(
        skill=Found([head("steps", secret)], "agent:ada"),
        history=Found([event(1, secret)]),
        task=secret,
    )
    manifest = made.manifest()
    assert secret not in json.dumps(manifest)
    assert manifest["definition"] == {
        "name": "prompt", "version": 3, "definition_hash": "ab" * 32,
    }  # fmt: skip
    skill = manifest["blocks"]["skill"]
    assert skill["entity"] == "agent:ada"
    assert skill["rows"] == [
        {
            "record_id": "rec_steps", "collection": "skills", "entity": "agent:ada",
            "key": "steps", "artifact_id": "art_steps", "version": 1,
        }
    ]  # fmt: skip
    assert made.record_ids == ("rec_steps", "rec_1")


def test_a_record_that_is_shown_twice_is_one_source() -> None:
    same: list[Row] = [event(1), event(1)]
    assert rendered(history=Found(same)).record_ids == ("rec_steps", "rec_1")
