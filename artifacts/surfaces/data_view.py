"""Data as something to read: objects that are alike as tables, the rest as fields and items."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

# One value shown as JSON.
VALUE_CHARS = 4_000
MOST_NODES = 3_000
MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the data. `rows` are fields of an object, items of a list, or lines of a table."""

    kind: Literal["text", "plain", "fields", "items", "table", "raw"]
    text: str = ""
    names: tuple[str, ...] = ()
    rows: tuple[Any, ...] = ()


def data_view(data: Any) -> Node:
    """The tree a page shows; data of very many values is shown as JSON."""
    if _count(data, MOST_NODES) > MOST_NODES:
        return json_view(data)
    return _node(data)


def json_view(value: Any) -> Node:
    """A value as readable JSON, which tells 1 from "1"; cut where it is long."""
    return text_view(json.dumps(value, ensure_ascii=False, indent=2))


def text_view(text: str) -> Node:
    """A text letter by letter, cut where it is long."""
    if len(text) > VALUE_CHARS:
        text = f"{text[:VALUE_CHARS]} … ({len(text) - VALUE_CHARS:,} more characters)"
    return Node("raw", text)


def _node(value: Any) -> Node:
    match value:
        case str():
            return Node("text", value)
        case dict() if value and (names := _columns([*value.values()])):
            rows = tuple(
                (Node("plain", key), *(_cell(item, name) for name in names))
                for key, item in value.items()
            )
            return Node("table", names=("", *names), rows=rows)
        case dict() if value:
            return Node("fields", rows=tuple((name, _node(each)) for name, each in value.items()))
        case list() if value and (names := _columns(value)):
            rows = tuple(tuple(_cell(item, name) for name in names) for item in value)
            return Node("table", names=names, rows=rows)
        case list() if value:
            return Node("items", rows=tuple(_node(each) for each in value))
        case None:
            return Node("plain", "—")
        case True | False:
            return Node("plain", "yes" if value else "no")
        case {} | []:
            return Node("plain", "none")
        case _:
            return Node("plain", str(value))


def _columns(items: list[Any]) -> tuple[str, ...]:
    """The members of objects that are alike enough for a table."""
    if not all(isinstance(item, Mapping) and item for item in items):
        return ()
    names = tuple(dict.fromkeys(name for item in items for name in item))
    return names if len(names) <= MOST_COLUMNS else ()


def _cell(item: Mapping[str, Any], name: str) -> Node:
    return _node(item[name]) if name in item else Node("plain", "")


def _count(value: Any, most: int) -> int:
    count, stack = 0, [value]
    while stack and count <= most:
        count += 1
        each = stack.pop()
        if isinstance(each, dict):
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
    return count
