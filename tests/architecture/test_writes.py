"""One write path: rows are written by the private stores and nowhere else; rules have no clock."""

import ast
import re

import pytest

from tests.architecture.source import calls, modules, tree

# Unmistakable as attribute calls.
WRITES = {
    "bulk_create", "bulk_update", "get_or_create", "update_or_create", "save", "delete",
    "abulk_create", "abulk_update", "aget_or_create", "aupdate_or_create", "asave", "adelete",
}  # fmt: skip
# Also methods of dictionaries and clients, so counted only on a manager or queryset.
AMBIGUOUS = {"create", "update", "acreate", "aupdate"}
QUERYSETS = {"objects", "_default_manager", "_base_manager", "filter", "exclude", "all", "using"}
WRITING_SQL = re.compile(r"\s*(INSERT|UPDATE|DELETE|TRUNCATE|REPLACE)\s", re.IGNORECASE)

# Who else may write, and why.
JUSTIFIED: dict[str, str] = {}

CHANCE = {"now", "utcnow", "today", "uuid1", "uuid4", "token_hex", "token_urlsafe", "time_ns"}


def _is_store(name: str) -> bool:
    return "/store/" in name or name.endswith("/store.py")


def _chain(node: ast.expr) -> set[str]:
    """Names along a chain: `A.objects.filter(…)` gives A, objects and filter."""
    names = set()
    while True:
        match node:
            case ast.Attribute(value=value, attr=attr):
                names.add(attr)
                node = value
            case ast.Call(func=func):
                node = func
            case ast.Name(id=id):
                return names | {id}
            case _:
                return names


def _writes(name: str) -> list[str]:
    found = []
    for call in calls(name):
        if not isinstance(call.func, ast.Attribute):
            continue
        method = call.func.attr
        on_rows = method in AMBIGUOUS and QUERYSETS & _chain(call.func.value)
        if method in WRITES or on_rows:
            found.append(f"{name}:{call.lineno} .{method}()")
    return found + [
        f"{name}:{node.lineno} {node.value.split()[0]} …"
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and WRITING_SQL.match(node.value)
        and node.value.split()[0].isupper()
    ]


@pytest.mark.parametrize("name", modules())
def test_only_a_store_writes_rows(name: str) -> None:
    if _is_store(name) or name in JUSTIFIED:
        return
    assert not _writes(name), "send a command through Workspace.commit, or write in a store"


@pytest.mark.parametrize("name", JUSTIFIED)
def test_an_exception_still_writes(name: str) -> None:
    assert _writes(name), f"{name} writes nothing any more: take it off the list"


def test_stores_do_write() -> None:
    """The control: a counter that finds no writes where they must be counts nothing."""
    assert any(_writes(name) for name in modules() if _is_store(name))


@pytest.mark.parametrize("name", [name for name in modules() if "/core/" in name])
def test_rules_have_neither_clock_nor_chance(name: str) -> None:
    if name == "artifacts/core/ids.py":
        return
    found = [
        f"{name}:{call.lineno}"
        for call in calls(name)
        if (isinstance(call.func, ast.Attribute) and call.func.attr in CHANCE)
        or (isinstance(call.func, ast.Name) and call.func.id in CHANCE)
    ]
    assert not found, "moments and ids come in as arguments"


@pytest.mark.parametrize("name", [name for name in modules() if "/core/" in name])
def test_rules_are_synchronous(name: str) -> None:
    found = [node for node in ast.walk(tree(name)) if isinstance(node, ast.AsyncFunctionDef)]
    assert not found, "nothing in core waits: whoever calls it does"
