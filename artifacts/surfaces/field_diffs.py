"""Two versions of JSON data as a table: one row for each field that differs, old beside new.

Reads like the data, not like a patch: items of a list that carry an id keep it as their name, and
long texts get a diff of their own. Bounded like the text diffs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from artifacts.core.patches import same_json

from .data_view import Node, data_view, json_view, text_view
from .diffs import TextDiff, text_diff

# Both values as JSON, in characters; a larger pair is offered whole.
MOST_CHARS = 600_000
MOST_ROWS = 300
# Texts that are longer, or have several lines, are compared as texts.
LONG_TEXT = 80
# Rows with a text diff of their own, and the items that may be matched up, multiplied.
TEXT_DIFFS = 30
MATCH_CELLS = 40_000
# What may name an item of a list, and what may describe it to a reader.
ID_MEMBERS = ("id", "key", "task_id", "uuid")
TITLE_MEMBERS = ("title", "name", "label")
TITLE_CHARS = 60

RowKind = Literal["changed", "added", "removed", "moved"]


@dataclass(frozen=True, slots=True)
class Row:
    """One field that differs. A text compared line by line has `text` in place of old and new."""

    path: tuple[str, ...]
    kind: RowKind
    old: Node | None = None
    new: Node | None = None
    text: TextDiff | None = None


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """What differs. `limit` says why something is left out, None where all is there."""

    rows: tuple[Row, ...] = ()
    limit: str | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.rows or self.limit)


def field_diff(old: Any, new: Any) -> FieldDiff:
    """The fields that differ from `old` to `new`, in the order of the data."""
    if len(_compact(old)) + len(_compact(new)) > MOST_CHARS:
        return FieldDiff(limit=f"The two values have more than {MOST_CHARS:,} characters.")
    walk = _Walk()
    rows: list[Row] = []
    for row in walk.compare(old, new, ()):
        if len(rows) == MOST_ROWS:
            return FieldDiff(tuple(rows), f"Only the first {MOST_ROWS} changed fields are shown.")
        rows.append(row)
    return FieldDiff(tuple(rows))


def _view(value: Any) -> Node:
    return data_view(value) if isinstance(value, dict | list) else json_view(value)


class _Walk:
    """One comparison, with what is left of its budget for text diffs."""

    def __init__(self) -> None:
        self.text_diffs = TEXT_DIFFS

    def compare(self, old: Any, new: Any, path: tuple[str, ...]) -> Iterator[Row]:
        if same_json(old, new):
            return
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self._objects(old, new, path)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._lists(old, new, path)
        elif isinstance(old, str) and isinstance(new, str) and self._is_long(old, new):
            self.text_diffs -= 1
            yield Row(path, "changed", text=text_diff(old, new))
        else:
            is_text = isinstance(old, str) and isinstance(new, str) and old and new
            say = text_view if is_text else _view
            yield Row(path, "changed", say(old), say(new))

    def _is_long(self, old: str, new: str) -> bool:
        is_long = "\n" in old or "\n" in new or max(len(old), len(new)) > LONG_TEXT
        return is_long and self.text_diffs > 0

    def _objects(
        self, old: dict[str, Any], new: dict[str, Any], path: tuple[str, ...]
    ) -> Iterator[Row]:
        for name, value in old.items():
            if name in new:
                where = (*path, _named(name, new[name]))
                yield from self.compare(value, new[name], where)
            else:
                yield Row((*path, _named(name, value)), "removed", old=_view(value))
        for name, value in new.items():
            if name not in old:
                yield Row((*path, _named(name, value)), "added", new=_view(value))

    def _lists(self, old: list[Any], new: list[Any], path: tuple[str, ...]) -> Iterator[Row]:
        member = _id_member(old, new)
        if member is None:
            yield from self._by_place(old, new, path)
            return
        before = {item[member]: item for item in old}
        after = {item[member]: item for item in new}
        for key, item in after.items():
            where = (*path, _named(item[member], item))
            if key in before:
                yield from self.compare(before[key], item, where)
            else:
                yield Row(where, "added", new=_view(item))
        for key, item in before.items():
            if key not in after:
                yield Row((*path, _named(item[member], item)), "removed", old=_view(item))
        kept = [key for key in before if key in after]
        order = [key for key in after if key in before]
        if kept != order:
            yield Row(path, "moved", text_view(_listed(kept)), text_view(_listed(order)))

    def _by_place(self, old: list[Any], new: list[Any], path: tuple[str, ...]) -> Iterator[Row]:
        for i, j, count_old, count_new in _runs(old, new):
            paired = min(count_old, count_new)
            for offset in range(paired):
                where = (*path, str(j + offset + 1))
                yield from self.compare(old[i + offset], new[j + offset], where)
            for offset in range(paired, count_old):
                item = old[i + offset]
                yield Row((*path, str(i + offset + 1)), "removed", old=_view(item))
            for offset in range(paired, count_new):
                item = new[j + offset]
                yield Row((*path, str(j + offset + 1)), "added", new=_view(item))


def _runs(old: list[Any], new: list[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Where two lists differ: the places and the numbers of old and new items."""
    a, b = [_compact(item) for item in old], [_compact(item) for item in new]
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    a, b = a[head : len(a) - tail], b[head : len(b) - tail]
    if len(a) * len(b) > MATCH_CELLS:
        yield head, head, len(a), len(b)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield head + i1, head + j1, i2 - i1, j2 - j1


def _id_member(old: list[Any], new: list[Any]) -> str | None:
    """The member that names every item of both lists, once in each."""
    if not old or not new:
        return None
    return next((name for name in ID_MEMBERS if _names(old, name) and _names(new, name)), None)


def _names(items: Sequence[Any], member: str) -> bool:
    if not all(isinstance(item, dict) for item in items):
        return False
    names = [item.get(member) for item in items]
    return all(type(name) in (str, int) for name in names) and len(set(names)) == len(names)


def _named(key: Any, item: Any) -> str:
    """A key, with the title of what it stands for."""
    members = item if isinstance(item, dict) else {}
    titles = (members[name] for name in TITLE_MEMBERS if isinstance(members.get(name), str))
    title = next(titles, None)
    return f"{key} “{title[:TITLE_CHARS]}”" if title else str(key)


def _listed(keys: Sequence[Any]) -> str:
    return ", ".join(str(key) for key in keys)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
