"""Typed equality, and diffs that are small and exact."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.core.limits import DEFAULT_LIMITS
from artifacts.core.patches import JsonPatch, ReplaceOp, apply_patch, diff, same_json
from tests.support.patches import JSON, nested, text_of


@given(JSON, JSON)
def test_applying_a_diff_gives_the_other_value_with_its_types(before: Any, after: Any) -> None:
    untouched = text_of([before, after])

    patch = diff(before, after)

    assert text_of(apply_patch(before, patch)) == text_of(after)
    assert JsonPatch.model_validate(patch.wire()) == patch
    assert bool(patch.ops) is not same_json(before, after)
    assert text_of([before, after]) == untouched


@given(st.lists(st.integers(0, 5), max_size=12), st.data())
def test_diff_of_reordered_and_thinned_lists(items: list[int], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(items))
    after = shuffled[: data.draw(st.integers(0, len(items)))]

    assert apply_patch({"x": items}, diff({"x": items}, {"x": after})) == {"x": after}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            {"tasks": {"t1": {"status": "open", "title": "A"}}},
            {"tasks": {"t1": {"status": "done", "title": "A"}}},
            [{"op": "replace", "path": "/tasks/t1/status", "value": "done"}],
            id="change-in-member",
        ),
        pytest.param(
            {"tasks": {"t1": {}, "t2": {}}},
            {"tasks": {"t2": {}, "t3": {"title": "C"}}},
            [
                {"op": "remove", "path": "/tasks/t1"},
                {"op": "add", "path": "/tasks/t3", "value": {"title": "C"}},
            ],
            id="members-come-and-go",
        ),
        pytest.param(
            ["a", "b", "d"],
            ["a", "b", "c", "d"],
            [{"op": "add", "path": "/2", "value": "c"}],
            id="insert",
        ),
        pytest.param(
            ["a", "b", "c", "d"], ["a", "d"], [{"op": "remove", "path": "/1"}] * 2, id="remove"
        ),
        pytest.param(
            [1, 2, 3, 4, 5, 6],
            [1, 3, 4, 5, "x", 6],
            [{"op": "remove", "path": "/1"}, {"op": "add", "path": "/4", "value": "x"}],
            id="two-places",
        ),
        pytest.param(
            [{"id": 1, "n": 1}, {"id": 2, "n": 1}],
            [{"id": 1, "n": 1}, {"id": 2, "n": 2}],
            [{"op": "replace", "path": "/1/n", "value": 2}],
            id="inside-an-item",
        ),
        pytest.param([1], [True], [{"op": "replace", "path": "/0", "value": True}], id="type"),
        pytest.param({"a": 1}, [1], [{"op": "replace", "path": "", "value": [1]}], id="root"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, [], id="order-of-members"),
    ],
)
def test_diff_is_small(before: Any, after: Any, expected: list[Any]) -> None:
    assert [op.wire() for op in diff(before, after).ops] == expected


def test_diff_replaces_the_list_that_needs_too_many_operations() -> None:
    before = {"title": "A", "numbers": list(range(2_000))}
    after = {"title": "B", "numbers": [-n for n in range(2_000)]}

    patch = diff(before, after)

    assert [op.path for op in patch.ops] == ["/title", "/numbers"]
    assert apply_patch(before, patch) == after


def test_diff_replaces_the_object_whose_member_has_too_long_a_path() -> None:
    name = "n" * DEFAULT_LIMITS.patch_path_bytes
    before, after = {"a": {name: 1}, "b": 1}, {"a": {name: 2}, "b": 1}

    patch = diff(before, after)

    assert patch.ops == (ReplaceOp(path="/a", value={name: 2}),)
    assert apply_patch(before, patch) == after


def test_diff_and_equality_of_deep_values_need_no_deep_recursion() -> None:
    before, after = nested(5_000, 1), nested(5_000, 2)

    assert same_json(before, nested(5_000, 1))
    assert not same_json(before, after)
    patch = diff(before, after)

    assert len(patch.ops) == 1
    assert patch.ops[0].path.count("/") <= DEFAULT_LIMITS.depth


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, True),
        (0, False),
        (1, 1.0),
        (0.0, -0.0),
        (0, ""),
        (None, False),
        ([], {}),
        ([1], [1, 1]),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {}),
        ([[1, 2]], [[2, 1]]),
        ({"a": None}, {"b": None}),
    ],
)
def test_values_of_different_types_or_members_are_not_the_same(first: Any, second: Any) -> None:
    assert not same_json(first, second)
    assert not same_json(second, first)


@given(JSON, JSON)
def test_same_means_written_the_same(first: Any, second: Any) -> None:
    assert same_json(first, second) is (text_of(first) == text_of(second))
    assert same_json(first, copy.deepcopy(first))
