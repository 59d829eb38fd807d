"""JSON Patch by RFC 6902, to the letter, and the same as another implementation."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.core.errors import PatchFailed
from artifacts.core.patches import AddOp, apply_patch, same_json
from tests.support.patches import JSON, OPERATIONS, ops, text_of

APPLIES = [
    pytest.param({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}, id="member"),
    pytest.param({"a": 1}, {"op": "add", "path": "/a", "value": None}, {"a": None}, id="set-anew"),
    pytest.param([1, 3], {"op": "add", "path": "/1", "value": 2}, [1, 2, 3], id="insert"),
    pytest.param([1], {"op": "add", "path": "/1", "value": 2}, [1, 2], id="insert-at-end"),
    pytest.param([1], {"op": "add", "path": "/-", "value": [2]}, [1, [2]], id="append"),
    pytest.param({"a": 1}, {"op": "add", "path": "", "value": [0]}, [0], id="add-root"),
    pytest.param({}, {"op": "add", "path": "/", "value": 1}, {"": 1}, id="empty-name"),
    pytest.param({}, {"op": "add", "path": "/-", "value": 1}, {"-": 1}, id="dash-is-a-name"),
    pytest.param({}, {"op": "add", "path": "/01", "value": 1}, {"01": 1}, id="digits-are-a-name"),
    pytest.param({"a": 1}, {"op": "remove", "path": "/a"}, {}, id="remove-member"),
    pytest.param([1, 2, 3], {"op": "remove", "path": "/1"}, [1, 3], id="remove-item"),
    pytest.param({"a": [1]}, {"op": "replace", "path": "/a/0", "value": 2}, {"a": [2]}, id="item"),
    pytest.param({"a": 1}, {"op": "replace", "path": "", "value": "x"}, "x", id="replace-root"),
    pytest.param(
        {"/": {"~1": 0}}, {"op": "replace", "path": "/~1/~01", "value": 5}, {"/": {"~1": 5}}, id="~"
    ),
    pytest.param(
        {"a": {"x": 1}, "b": {}},
        {"op": "move", "from": "/a/x", "path": "/b/y"},
        {"a": {}, "b": {"y": 1}},
        id="move",
    ),
    pytest.param([1, 2, 3], {"op": "move", "from": "/0", "path": "/2"}, [2, 3, 1], id="move-item"),
    pytest.param([1, 2], {"op": "move", "from": "/0", "path": "/-"}, [2, 1], id="move-to-end"),
    pytest.param({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}, id="move-nowhere"),
    pytest.param({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/a"}, {"a": 1}, id="up"),
    pytest.param(
        {"ab": 1, "a": {}}, {"op": "move", "from": "/a", "path": "/ab"}, {"ab": {}}, id="not-inside"
    ),
    pytest.param([1], {"op": "copy", "from": "/0", "path": "/0"}, [1, 1], id="copy-item"),
    pytest.param(
        {"a": 1}, {"op": "copy", "from": "", "path": "/b"}, {"a": 1, "b": {"a": 1}}, id="0"
    ),
    pytest.param({"a": [1]}, {"op": "test", "path": "/a", "value": [1]}, {"a": [1]}, id="test"),
    pytest.param([1], {"op": "test", "path": "/0", "value": 1.0}, [1], id="1-is-1.0"),
    pytest.param(
        {"a": 1, "b": 2},
        {"op": "test", "path": "", "value": {"b": 2, "a": 1}},
        {"a": 1, "b": 2},
        id="test-ignores-order",
    ),
]


@pytest.mark.parametrize(("before", "operation", "after"), APPLIES)
def test_operation_applies_as_the_rfc_says(before: Any, operation: Any, after: Any) -> None:
    untouched = text_of(before)

    assert same_json(apply_patch(before, ops(operation)), after)
    assert text_of(before) == untouched


FAILS = [
    pytest.param({"a": 1}, {"op": "remove", "path": "/b"}, "does not exist", id="remove-absent"),
    pytest.param({}, {"op": "replace", "path": "/b", "value": 1}, "does not exist", id="absent"),
    pytest.param({}, {"op": "add", "path": "/a/b", "value": 1}, "does not exist", id="no-parent"),
    pytest.param({"a": 1}, {"op": "add", "path": "/a/b", "value": 1}, "no members", id="in-number"),
    pytest.param({"a": "x"}, {"op": "remove", "path": "/a/0"}, "no members", id="text"),
    pytest.param({"a": None}, {"op": "copy", "from": "/a/b", "path": "/c"}, "no members", id="nil"),
    pytest.param([1], {"op": "add", "path": "/2", "value": 1}, "beyond the end", id="beyond"),
    pytest.param([1], {"op": "replace", "path": "/1", "value": 1}, "beyond the end", id="at-end"),
    pytest.param([1], {"op": "remove", "path": "/-"}, "no element", id="remove-dash"),
    pytest.param([1], {"op": "copy", "from": "/-", "path": "/0"}, "no element", id="copy-dash"),
    pytest.param([1, 2], {"op": "remove", "path": "/01"}, "not an array index", id="leading-zero"),
    pytest.param([1, 2], {"op": "remove", "path": "/00"}, "not an array index", id="zeros"),
    pytest.param([1, 2], {"op": "remove", "path": "/-1"}, "not an array index", id="negative"),
    pytest.param([1, 2], {"op": "remove", "path": "/1e0"}, "not an array index", id="exponent"),
    pytest.param([1, 2], {"op": "remove", "path": "/"}, "not an array index", id="empty-index"),
    pytest.param([1, 2], {"op": "remove", "path": "/\u0661"}, "not an array index", id="arabic"),
    pytest.param({"a": 1}, {"op": "remove", "path": ""}, "cannot be removed", id="remove-root"),
    pytest.param({"a": 1}, {"op": "remove", "path": "a"}, "not a JSON Pointer", id="no-slash"),
    pytest.param({"~": 1}, {"op": "remove", "path": "/~"}, "not a JSON Pointer", id="bare-tilde"),
    pytest.param({"~2": 1}, {"op": "remove", "path": "/~2"}, "not a JSON Pointer", id="tilde-2"),
    pytest.param({}, {"op": "move", "from": "/a", "path": "/b"}, "does not exist", id="no-from"),
    pytest.param({}, {"op": "move", "from": "/a", "path": "/a"}, "does not exist", id="nowhere"),
    pytest.param(
        {"a": {"b": {}}}, {"op": "move", "from": "/a", "path": "/a/b/c"}, "into itself", id="inside"
    ),
    pytest.param({"a": {}}, {"op": "move", "from": "", "path": "/a/b"}, "into itself", id="root"),
    pytest.param([1], {"op": "test", "path": "/0", "value": True}, "not the expected", id="true"),
    pytest.param([0], {"op": "test", "path": "/0", "value": False}, "not the expected", id="false"),
    pytest.param([1], {"op": "test", "path": "/0", "value": "1"}, "not the expected", id="1-text"),
    pytest.param([None], {"op": "test", "path": "/0", "value": 0}, "not the expected", id="0-null"),
    pytest.param([[1]], {"op": "test", "path": "/0", "value": [1, 1]}, "not the expect", id="len"),
    pytest.param({}, {"op": "test", "path": "/a", "value": None}, "does not exist", id="untested"),
    pytest.param({}, {"op": "add", "path": "/a", "value": ["\0"]}, "NUL", id="nul-in-value"),
    pytest.param({}, {"op": "add", "path": "/a", "value": "\ud800"}, "surrogate", id="surrogate"),
    pytest.param({}, {"op": "add", "path": "/a", "value": float("nan")}, "finite", id="nan"),
    pytest.param({}, {"op": "add", "path": "/a", "value": {1: 2}}, "not a string", id="name"),
    pytest.param({}, {"op": "add", "path": "/a", "value": {1, 2}}, "no JSON type", id="a-set"),
]


@pytest.mark.parametrize(("before", "operation", "reason"), FAILS)
def test_operation_that_cannot_apply_fails(before: Any, operation: Any, reason: str) -> None:
    untouched = text_of(before)

    with pytest.raises(PatchFailed, match=reason) as failure:
        apply_patch(before, ops(operation))
    assert failure.value.message.startswith(f"ops[0] ({operation['op']}): ")
    assert text_of(before) == untouched


def test_operations_see_the_result_of_the_ones_before() -> None:
    patch = ops(
        {"op": "add", "path": "/tasks/t2", "value": {"status": "open"}},
        {"op": "replace", "path": "/tasks/t2/status", "value": "done"},
        {"op": "test", "path": "/tasks/t2/status", "value": "done"},
    )

    assert apply_patch({"tasks": {}}, patch) == {"tasks": {"t2": {"status": "done"}}}
    assert patch.ops[0] == AddOp(path="/tasks/t2", value={"status": "open"})


def test_places_that_share_a_copied_value_change_apart() -> None:
    before = {"a": {"x": [1]}}

    after = apply_patch(
        before,
        ops(
            {"op": "add", "path": "/a/x/-", "value": 2},
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "add", "path": "/a/x/-", "value": 3},
            {"op": "add", "path": "/b/x/-", "value": 4},
        ),
    )

    assert after == {"a": {"x": [1, 2, 3]}, "b": {"x": [1, 2, 4]}}
    assert before == {"a": {"x": [1]}}


def test_only_the_path_to_the_change_is_copied() -> None:
    before = {"tasks": {f"t{n}": {"status": "open"} for n in range(50)}}

    after = apply_patch(before, ops({"op": "replace", "path": "/tasks/t3/status", "value": "done"}))

    assert before["tasks"]["t3"] == {"status": "open"}
    shared = [name for name in before["tasks"] if after["tasks"][name] is before["tasks"][name]]
    assert len(shared) == 49


@given(JSON, st.lists(OPERATIONS, min_size=1, max_size=5))
def test_result_is_that_of_an_independent_implementation(data: Any, operations: list[Any]) -> None:
    untouched = text_of(data)
    expected: Any = None
    try:
        expected, failed = jsonpatch.apply_patch(data, operations), False
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        failed = True

    patch = ops(*operations)
    written = patch.wire()
    if failed:
        with pytest.raises(PatchFailed):
            apply_patch(data, patch)
    else:
        assert text_of(apply_patch(data, patch)) == text_of(expected)
    assert text_of(data) == untouched
    assert text_of(patch.wire()) == text_of(written)
