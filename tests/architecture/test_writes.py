"""One write path: rows are written by the private stores and nowhere else; rules have no clock."""

import ast
import re

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
JUSTIFIED = {
    "artifacts/keys.py": "credentials are the installation's, not a workspace's",
    "artifacts/triggers.py": "what the database itself does and refuses",
    "artifactr_site/docplan/seed.py": "the demo's tenant and membership, as an administrator's",
}

CHANCE = {"now", "utcnow", "today", "uuid1", "uuid4", "token_hex", "token_urlsafe", "time_ns"}
# The one module that makes fresh ids, for callers.
RULES = [name for name in modules() if "/core/" in name and name != "artifacts/core/ids.py"]


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


def _imported_stores(name: str) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ImportFrom) and "store" in (node.module or "").split(".")
        for alias in node.names
    }


def _writes(name: str) -> list[str]:
    found, stores = [], _imported_stores(name)
    for call in calls(name):
        if not isinstance(call.func, ast.Attribute):
            continue
        if isinstance(call.func.value, ast.Name) and call.func.value.id in stores:
            continue  # a store's own function; the import contracts say who may call it
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


def test_only_a_store_writes_rows() -> None:
    found = [
        write
        for name in modules()
        if not _is_store(name) and name not in JUSTIFIED
        for write in _writes(name)
    ]
    assert not found, "send a command through Workspace.commit, or write in a store"


def test_stores_and_exceptions_do_write() -> None:
    """The control: a counter that finds no writes where they must be counts nothing."""
    assert any(_writes(name) for name in modules() if _is_store(name))
    assert all(_writes(name) for name in JUSTIFIED), "writes nothing any more: take it off the list"


def test_rules_have_neither_clock_nor_chance() -> None:
    found = [
        f"{name}:{call.lineno}"
        for name in RULES
        for call in calls(name)
        if (isinstance(call.func, ast.Attribute) and call.func.attr in CHANCE)
        or (isinstance(call.func, ast.Name) and call.func.id in CHANCE)
    ]
    assert not found, "moments and ids come in as arguments"


def test_rules_make_no_ids() -> None:
    """Commands bring fresh ids as their fields' defaults; deciding makes none."""
    deciding = [name for name in RULES if "/rules/" in name or name.endswith("/commit.py")]
    assert deciding
    found = [
        f"{name}:{node.lineno}"
        for name in deciding
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Name) and node.id == "new_id"
    ]
    assert not found, "a rule that makes an id answers differently each time"


def test_rules_are_synchronous() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name in RULES
        for node in ast.walk(tree(name))
        if isinstance(node, ast.AsyncFunctionDef | ast.Await)
    ]
    assert not found, "nothing in core waits: whoever calls it does"
