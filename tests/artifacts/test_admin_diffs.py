"""Diffs as people read them: right, and bounded whatever the texts are. No database."""

from __future__ import annotations

import ast
import inspect
import random
from difflib import SequenceMatcher
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.surfaces import data_view as views
from artifacts.surfaces import diffs, field_diffs
from artifacts.surfaces.data_view import Node, data_view
from artifacts.surfaces.diffs import Line, TextDiff, text_diff
from artifacts.surfaces.field_diffs import FieldDiff, field_diff


def told(diff: TextDiff) -> list[str]:
    """A diff as lines with a sign, changed words in brackets."""
    return [f"{SIGNS[line.kind]}{words(line)}" for line in diff.lines]


SIGNS = {"same": " ", "removed": "-", "added": "+", "skipped": "@"}


def words(line: Line) -> str:
    if line.kind == "skipped":
        return str(line.count)
    return "".join(f"[{p.text}]" if p.is_changed else p.text for p in line.pieces)


def rebuilt(diff: TextDiff, kind: str) -> str:
    """One side of a diff that shows every line."""
    kept = [line for line in diff.lines if line.kind in ("same", kind)]
    return "\n".join("".join(piece.text for piece in line.pieces) for line in kept)


def test_changed_words_are_marked_in_their_lines() -> None:
    diff = text_diff("a\nthe quick brown fox\nb", "a\nthe quick red fox\nb")
    assert told(diff) == [" a", "-the quick [brown] fox", "+the quick [red] fox", " b"]
    assert (diff.removed, diff.added, diff.limit) == (1, 1, None)


def test_words_that_changed_in_a_row_are_one_mark() -> None:
    diff = text_diff("we ship the first release now", "we ship version two now")
    assert told(diff) == ["-we ship [the first release] now", "+we ship [version two] now"]


def test_lines_that_share_little_are_not_marked() -> None:
    assert told(text_diff("alpha beta gamma", "nothing alike here")) == [
        "-alpha beta gamma",
        "+nothing alike here",
    ]


def test_far_lines_are_counted_not_shown() -> None:
    old = "\n".join(f"line {n}" for n in range(20))
    diff = text_diff(old, old.replace("line 10", "line ten"))
    assert told(diff)[:2] == ["@7", " line 7"]
    assert told(diff)[-1] == "@6"
    assert [line.old for line in diff.lines if line.kind == "removed"] == [11]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a", "a\n", [" a", "+"]),
        ("a\n", "a", [" a", "-"]),
        ("", "a", ["+a"]),
        ("a", "", ["-a"]),
        ("a ", "a", ["-a[ ]", "+a"]),
        ("a\u2028b", "a\u2028c", ["-a\u2028[b]", "+a\u2028[c]"]),
        ("same", "same", [" same"]),
    ],
)
def test_what_is_easily_overlooked(old: str, new: str, expected: list[str]) -> None:
    diff = text_diff(old, new)
    assert told(diff) == expected
    assert diff.is_empty == (old == new)


lines = st.lists(st.sampled_from(["a", "b", "", "long words in a line", "é"]), max_size=30)


@given(lines, lines)
def test_a_diff_holds_both_texts(before: list[str], after: list[str]) -> None:
    old, new = "\n".join(before), "\n".join(after)
    diff = text_diff(old, new, context=100)
    assert diff.is_empty == (old == new)
    if diff.is_empty:
        return
    assert rebuilt(diff, "removed") == old
    assert rebuilt(diff, "added") == new
    assert [each.old for each in diff.lines if each.old] == sorted(
        e.old for e in diff.lines if e.old
    )


def test_two_edits_in_a_very_long_text_are_found_exactly() -> None:
    old = [f"line {n} {'x' * 10}" for n in range(8_000)]
    new = list(old)
    new[3], new[7_990] = "first", "second"
    diff = text_diff("\n".join(old), "\n".join(new))
    assert (diff.removed, diff.added, diff.limit) == (2, 2, None)
    assert sum(line.count for line in diff.lines) + len(diff.lines) < 8_010


def hostile() -> dict[str, tuple[str, str]]:
    """Texts on which a naive diff takes minutes or more."""
    chance = random.Random(37)

    def ab(count: int, letters: str = "ab") -> str:
        return "".join(chance.choice(letters) for _ in range(count))

    return {
        "no line is unique": ("\n".join(ab(90_000)), "\n".join(ab(90_000))),
        "one line repeated": ("x\n" * 90_000, "x\n" * 89_000 + "y\n"),
        "one very long line": ("x" * 190_000, "x" * 100_000 + "y" * 90_000),
        "many words of one letter": (" ".join(ab(999)), " ".join(ab(999))),
        "many long alike lines": (
            "\n".join(f"{n} {ab(400)}" for n in range(400)),
            "\n".join(f"{n} {ab(400)}" for n in range(400)),
        ),
        "28 kB of near matches": ("\n".join(ab(28_000, "ab \n")), "\n".join(ab(28_000, "ab \n"))),
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_texts_come_to_an_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be spent on matching is counted, not timed."""
    spent = [0]

    def counted(isjunk: None, a: list[str], b: list[str], autojunk: bool) -> Any:
        spent[0] += len(a) * len(b) * min(len(a), len(b))
        return SequenceMatcher(isjunk, a, b, autojunk)

    monkeypatch.setattr(diffs, "SequenceMatcher", counted)
    diff = text_diff(*hostile()[name])
    assert len(diff.lines) <= diffs.MOST_LINES
    of_words = diffs.WORD_PAIRS * diffs.WORD_CELLS * int(diffs.WORD_CELLS**0.5)
    assert spent[0] <= diffs.MATCH_BUDGET + of_words
    longest = max(sum(len(piece.text) for piece in line.pieces) for line in diff.lines)
    assert longest <= diffs.LINE_CHARS + 50


def test_past_the_limit_it_says_so() -> None:
    half = diffs.MOST_CHARS // 2
    diff = text_diff("a" * half, "b" * (half + 1))
    assert diff.lines == ()
    assert diff.limit is not None
    assert "400,000 characters" in diff.limit
    assert not diff.is_empty


def test_the_slow_ways_are_not_used() -> None:
    for module in (diffs, field_diffs, views):
        names = {
            getattr(n, "attr", getattr(n, "id", ""))
            for n in ast.walk(ast.parse(inspect.getsource(module)))
        }
        names |= {
            a.name
            for n in ast.walk(ast.parse(inspect.getsource(module)))
            if isinstance(n, ast.ImportFrom)
            for a in n.names
        }
        assert not names & {"HtmlDiff", "ndiff", "Differ", "unified_diff"}


def rows(diff: FieldDiff) -> list[tuple[str, str, str | None, str | None]]:
    return [(" > ".join(r.path), r.kind, shown(r.old), shown(r.new)) for r in diff.rows]


def shown(node: Node | None) -> str | None:
    if node is None:
        return None
    return node.text if node.kind in ("raw", "text", "plain") else node.kind


def test_fields_read_like_the_data() -> None:
    old = {
        "title": "Launch",
        "n": 1,
        "gone": None,
        "tasks": {"t1": {"title": "Write", "status": "todo"}},
    }
    new = {
        "title": "Lunch",
        "n": 1.0,
        "tasks": {"t1": {"title": "Write", "status": "done"}, "t2": {"title": "Ship"}},
    }
    assert rows(field_diff(old, new)) == [
        ("title", "changed", "Launch", "Lunch"),
        ("n", "changed", "1", "1.0"),
        ("gone", "removed", "null", None),
        ("tasks > t1 “Write” > status", "changed", "todo", "done"),
        ("tasks > t2 “Ship”", "added", None, "fields"),
    ]


def test_items_keep_their_ids_when_they_move() -> None:
    old = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}]
    new = [{"id": 3, "name": "c"}, {"id": 1, "name": "A"}, {"id": 4, "name": "d"}]
    assert rows(field_diff({"x": old}, {"x": new})) == [
        ("x > 1 “A” > name", "changed", "a", "A"),
        ("x > 4 “d”", "added", None, "fields"),
        ("x > 2 “b”", "removed", "fields", None),
        ("x", "moved", "1, 3", "3, 1"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([1, 2, 3], [1, 3], [("x > 2", "removed", "2", None)]),
        ([1, 3], [1, 2, 3], [("x > 2", "added", None, "2")]),
        (["a"], ["b"], [("x > 1", "changed", "a", "b")]),
        ("1", 1, [("x", "changed", '"1"', "1")]),
        (True, 1, [("x", "changed", "true", "1")]),
        ("", "a", [("x", "changed", '""', '"a"')]),
        ([], {}, [("x", "changed", "plain", "plain")]),
        ([{"id": 1}, {"id": 1}], [{"id": 1}], [("x > 2", "removed", "fields", None)]),
    ],
)
def test_small_differences(old: Any, new: Any, expected: list[Any]) -> None:
    found = rows(field_diff({"x": old}, {"x": new}))
    assert [r[:2] for r in found] == [r[:2] for r in expected]
    if expected[0][2] != "plain":
        assert found == expected


def test_a_long_text_has_a_diff_of_its_own() -> None:
    diff = field_diff({"note": "one\ntwo"}, {"note": "one\n2"})
    assert diff.rows[0].text is not None
    assert told(diff.rows[0].text) == [" one", "-two", "+2"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "id"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abid"), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values, json_values)
def test_there_are_rows_exactly_where_data_differs(old: Any, new: Any) -> None:
    same = field_diffs.same_json(old, new)
    assert field_diff(old, new).is_empty == same
    assert field_diff(old, old).is_empty


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (list("ab" * 25_000), list("ba" * 25_000)),
        ({str(n): n for n in range(5_000)}, {str(n): -n for n in range(5_000)}),
        (["ab\n" * 60 + str(n) for n in range(900)], ["ba\n" * 60 + str(n) for n in range(900)]),
    ],
    ids=["long list", "many fields", "many texts"],
)
def test_hostile_data_is_bounded(old: Any, new: Any) -> None:
    diff = field_diff({"x": old}, {"x": new})
    assert len(diff.rows) == field_diffs.MOST_ROWS
    assert diff.limit == f"Only the first {field_diffs.MOST_ROWS} changed fields are shown."
    assert sum(row.text is not None for row in diff.rows) <= field_diffs.TEXT_DIFFS


def test_very_large_data_is_not_compared() -> None:
    diff = field_diff({"x": "a" * field_diffs.MOST_CHARS}, {"x": "b"})
    assert diff.rows == ()
    assert diff.limit is not None


def test_data_as_something_to_read() -> None:
    view = data_view({"t": [{"a": 1}, {"a": True, "b": None}], "d": {"k": {"a": "x"}}, "n": []})
    names = dict(view.rows)
    assert (names["t"].kind, names["t"].names) == ("table", ("a", "b"))
    assert (names["d"].kind, names["d"].names) == ("table", ("", "a"))
    assert (names["n"].kind, names["n"].text) == ("plain", "none")
    assert data_view([0] * (views.MOST_NODES + 1)).kind == "raw"
