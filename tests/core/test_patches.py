"""Patches on the wire, anchored text edits, and summaries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from artifacts.core.errors import PatchFailed
from artifacts.core.patches import (
    JsonPatch,
    Patch,
    RemoveOp,
    TextEdits,
    apply_patch,
    summarize_patch,
)
from artifacts.core.values import Value
from tests.support.patches import OPERATIONS, edits, ops, text_of


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/a"},
        {"op": "remove"},
        {"op": "move", "path": "/a"},
        {"op": "move", "from_": "/a", "path": "/b"},
        {"op": "append", "path": "/a", "value": 1},
        {"op": "remove", "path": "/a", "value": 1},
        {"op": "add", "path": 1, "value": 1},
        {"path": "/a", "value": 1},
        {"op": "remove", "path": "/a\0"},
        {"op": "remove", "path": "/\ud800"},
    ],
)
def test_malformed_operation_is_refused_when_read(operation: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ops(operation)


def test_patches_are_immutable() -> None:
    patch = ops({"op": "remove", "path": "/a"})

    with pytest.raises(ValidationError):
        patch.ops = ()  # type: ignore[misc]
    with pytest.raises(ValidationError):
        patch.ops[0].path = "/b"  # type: ignore[misc]


def test_patch_is_written_as_it_was_read_with_null_values() -> None:
    class Holder(Value):
        patch: Patch

    written = {
        "kind": "json_patch",
        "ops": [
            {"op": "replace", "path": "/a", "value": None},
            {"op": "test", "path": "/b", "value": {"c": None}},
            {"op": "move", "from": "/a", "path": "/b"},
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "remove", "path": "/b"},
        ],
    }

    holder = Holder.model_validate({"patch": written})

    assert holder.wire() == {"patch": written}
    assert json.loads(holder.model_dump_json()) == {"patch": written}


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_schema_shows_the_members_of_each_operation(mode: Any) -> None:
    schema = TypeAdapter(JsonPatch).json_schema(mode=mode)["$defs"]

    assert set(schema["AddOp"]["properties"]) == {"op", "path", "value"}
    assert set(schema["MoveOp"]["properties"]) == {"op", "from", "path"}


def test_text_edits_apply_in_order_each_to_the_result_of_the_one_before() -> None:
    data = {"text": "one two", "title": "T"}

    after = apply_patch(data, edits(("one", "1"), ("1 two", "done")))

    assert after == {"text": "done", "title": "T"}
    assert data == {"text": "one two", "title": "T"}


@pytest.mark.parametrize("field", ["notes", "/meta/notes", "/list/1"])
def test_text_edits_reach_any_text_field(field: str) -> None:
    data = {"text": "", "notes": "old", "meta": {"notes": "old"}, "list": ["", "old"]}

    after = apply_patch(data, edits(("old", "new"), field=field))

    assert text_of(after).count("new") == 1
    assert text_of(data).count("old") == 3


@pytest.mark.parametrize(
    ("data", "patch", "reason"),
    [
        pytest.param({"text": "b"}, edits(("a", "x")), r"edits\[0\]: old does not", id="none"),
        pytest.param({"text": "aba"}, edits(("a", "x")), "more than once", id="twice"),
        pytest.param({"text": "aaa"}, edits(("aa", "x")), "more than once", id="overlapping"),
        pytest.param({"text": "a"}, edits(("", "x")), "old is empty", id="empty-old"),
        pytest.param({"text": ""}, edits(("", "x"), ("", "y")), r"edits\[1\]: old is", id="refill"),
        pytest.param(
            {"text": "ab"}, edits(("a", "b"), ("b", "c")), r"edits\[1\]: old occurs more", id="made"
        ),
        pytest.param({"text": 5}, edits(("5", "6")), "field: the value there is not", id="int"),
        pytest.param({"text": ["a"]}, edits(("a", "b")), "not a text", id="list"),
        pytest.param({}, edits(("a", "b")), "field: the path names a member", id="no-field"),
        pytest.param("abc", edits(("a", "b")), "no members", id="not-an-object"),
        pytest.param({"a.b": {}}, edits(("a", "b"), field="a.b"), "not a text", id="dot"),
        pytest.param({}, edits(("a", "b"), field="/x" * 70), "patch_path_parts", id="long-pointer"),
    ],
)
def test_text_edit_that_cannot_apply_fails(data: Any, patch: TextEdits, reason: str) -> None:
    untouched = text_of(data)

    with pytest.raises(PatchFailed, match=reason):
        apply_patch(data, patch)
    assert text_of(data) == untouched


def test_empty_anchor_fills_an_empty_field() -> None:
    assert apply_patch({"text": ""}, edits(("", "a"), ("a", "b"))) == {"text": "b"}


@given(st.text("ab", max_size=8), st.text("ab", max_size=3), st.text("ab", max_size=3))
def test_anchored_edit_replaces_exactly_one_occurrence_or_fails(
    text: str, old: str, new: str
) -> None:
    places = [n for n in range(len(text) + 1) if text.startswith(old, n)]

    if len(places) == 1:
        at = places[0]
        expected = text[:at] + new + text[at + len(old) :]
        assert apply_patch({"text": text}, edits((old, new))) == {"text": expected}
    else:
        with pytest.raises(PatchFailed):
            apply_patch({"text": text}, edits((old, new)))


@pytest.mark.parametrize(
    ("patch", "before", "expected"),
    [
        (
            ops(
                {"op": "test", "path": "/tasks/t1/status", "value": "open"},
                {"op": "replace", "path": "/tasks/t1/status", "value": "done"},
                {"op": "add", "path": "/tasks/t2", "value": {}},
            ),
            None,
            "changed /tasks/t1/status; added /tasks/t2",
        ),
        (
            ops(
                {"op": "remove", "path": "/a"},
                {"op": "move", "from": "/b", "path": "/c"},
                {"op": "copy", "from": "/c", "path": "/d"},
            ),
            None,
            "removed /a; moved /b to /c; copied /c to /d",
        ),
        (ops({"op": "add", "path": "/a", "value": 1}), {"a": 0}, "changed /a"),
        (ops({"op": "add", "path": "/a/0", "value": 1}), {"a": [0]}, "added /a/0"),
        (ops({"op": "replace", "path": "", "value": 1}), 0, "changed the whole value"),
        (ops({"op": "add", "path": "/a\nb", "value": 1}), {}, "added /a\ufffdb"),
        (
            ops(
                {"op": "add", "path": "/tasks/t1", "value": {"title": " Write\n it ", "name": "x"}}
            ),
            {"tasks": {}},
            "added /tasks/t1 “Write it”",
        ),
        (
            ops(
                {"op": "replace", "path": "/a", "value": {"title": 7, "name": "\ud800" + "x" * 99}}
            ),
            {"a": 0},
            "changed /a “\ufffd" + "x" * 58 + "…”",
        ),
        (ops(), {}, "changed nothing"),
        (edits(("a", "b")), None, "edited text"),
        (edits(("a", "b"), ("c", "d"), field="/notes"), None, "edited /notes in 2 places"),
    ],
)
def test_summary_says_what_a_patch_does(patch: Any, before: Any, expected: str) -> None:
    assert summarize_patch(patch, before) == expected


def test_summary_is_short_and_says_how_much_it_leaves_out() -> None:
    many = JsonPatch(ops=tuple(RemoveOp(path=f"/tasks/task_{n}") for n in range(100)))
    summary = summarize_patch(many)

    assert len(summary) <= 200
    named = summary.count("removed")
    assert summary.endswith(f"; and {100 - named} more")
    assert len(summarize_patch(ops({"op": "remove", "path": "/" + "a" * 900}))) == 200


@given(st.lists(OPERATIONS, max_size=30))
def test_summary_is_never_long(operations: list[Any]) -> None:
    assert 0 < len(summarize_patch(ops(*operations), {"a": []})) <= 200
