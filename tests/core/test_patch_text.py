"""Anchored edits made from two texts: they lead from one to the other, and are small."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from artifacts.core import JsonPatch, TextEdits, apply_patch, change_between

LINES = st.lists(st.text(alphabet=string.ascii_lowercase + "\n", max_size=30), max_size=40)
TEXT = "\n".join(f"Line {number} says something of its own." for number in range(40))


@given(LINES, LINES)
def test_the_change_gives_exactly_the_second_text(one: list[str], other: list[str]) -> None:
    before, after = {"text": "\n".join(one), "n": 1}, {"text": "\n".join(other), "n": 1}
    assert apply_patch(before, change_between(before, after)) == after


@given(st.data())
def test_changed_lines_among_many_alike_are_found_again(data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(["same\n", "other\n", "third\n"]), min_size=40))
    at = data.draw(st.integers(0, len(lines) - 1))
    changed = [*lines[:at], "new\n", *lines[at + 1 :]]
    before, after = {"text": "".join(lines)}, {"text": "".join(changed)}
    assert apply_patch(before, change_between(before, after)) == after


def test_one_changed_line_is_one_edit_of_that_line() -> None:
    after = TEXT.replace("Line 7 says", "Line 7 shouts")
    patch = change_between({"text": TEXT}, {"text": after})
    assert isinstance(patch, TextEdits)
    assert [(each.old, each.new) for each in patch.edits] == [
        ("Line 7 says something of its own.\n", "Line 7 shouts something of its own.\n")
    ]


def test_what_is_no_single_long_text_stays_a_json_patch() -> None:
    for before, after in (
        ({"text": "short"}, {"text": "shorter"}),
        ({"text": TEXT, "n": 1}, {"text": TEXT + "more\n", "n": 2}),
        ({"text": TEXT}, {"text": "all new"}),
        ({"/text": TEXT}, {"/text": TEXT + "more\n"}),
    ):
        patch = change_between(before, after)
        assert isinstance(patch, JsonPatch)
        assert apply_patch(before, patch) == after
