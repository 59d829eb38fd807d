"""Applying one operation after another to a value that is copied only where it changes.

Own code rather than the `jsonpatch` library, which copies the whole value first and counts
nothing: here a change of one task costs the containers on its path, and a bomb is refused before
it grows. The library's pointers are used, and the tests compare every result with it.
"""

from __future__ import annotations

from typing import Any

from jsonpointer import JsonPointer, JsonPointerException
from pydantic_core import to_json

from .errors import PatchFailed, ValidationFailed
from .json_equal import equal_json
from .json_input import walk_json
from .limits import Limits
from .patch_types import AddOp, CopyOp, MoveOp, Op, RemoveOp, ReplaceOp, TestOp

_Container = dict[str, Any] | list[Any]


def parse_pointer(path: str, *, limits: Limits) -> list[str]:
    """The reference tokens of a JSON Pointer (RFC 6901) within the limits."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise PatchFailed("the path contains a lone surrogate") from None
    if size > limits.patch_path_bytes:
        raise PatchFailed(
            f"the path is longer than {limits.patch_path_bytes} bytes (patch_path_bytes)"
        )
    if path.count("/") > limits.patch_path_parts:
        raise PatchFailed(
            f"the path has more than {limits.patch_path_parts} parts (patch_path_parts)"
        )
    if "\0" in path:
        raise PatchFailed("the path contains NUL")
    try:
        parts: list[str] = JsonPointer(path).parts
    except JsonPointerException:
        raise PatchFailed("the path is not a JSON Pointer") from None
    return parts


class Patching:
    """A value being patched. It shares with the original whatever no operation has written to."""

    __slots__ = ("_copied_bytes", "_limits", "_own", "_went_deeper", "root")

    def __init__(self, root: Any, *, limits: Limits) -> None:
        self.root = root
        self._limits = limits
        # Containers made here, which nothing else refers to; kept so that no id is used again.
        self._own: dict[int, _Container] = {}
        self._copied_bytes = 0
        self._went_deeper = False

    def apply(self, op: Op) -> None:
        """One operation; a failed one may leave this half changed, never the original."""
        path = parse_pointer(op.path, limits=self._limits)
        match op:
            case ReplaceOp():
                self.replace(path, self._checked(op.value, path))
            case AddOp():
                self._add(path, self._checked(op.value, path))
            case RemoveOp():
                self._remove(path)
            case TestOp():
                if not equal_json(self.get(path), op.value):
                    raise PatchFailed("the value is not the expected one")
            case MoveOp():
                self._move(parse_pointer(op.from_, limits=self._limits), path)
            case CopyOp():
                self._copy(parse_pointer(op.from_, limits=self._limits), path)

    def get(self, parts: list[str]) -> Any:
        """The value at a path."""
        node = self.root
        for part in parts:
            node = node[_key(node, part)]
        return node

    def replace(self, parts: list[str], value: Any) -> None:
        """Put a value where one is."""
        if not parts:
            self.root = value
            return
        parent = self._parent(parts)
        parent[_key(parent, parts[-1])] = value

    def finish(self) -> Any:
        """The patched value, if it is within the limits."""
        if self._went_deeper:
            self._walk(self.root, name="result")
        text = to_json(self.root)
        if len(text) > self._limits.artifact_bytes:
            raise PatchFailed(
                f"the result is larger than {self._limits.artifact_bytes} bytes (artifact_bytes)"
            )
        # Each value is the first of its container or follows a comma: count only when it matters.
        at_most = 1 + text.count(b",") + text.count(b"[") + text.count(b"{")
        if at_most > self._limits.json_nodes:
            self._walk(self.root, name="result")
        return self.root

    def _add(self, parts: list[str], value: Any) -> None:
        if not parts:
            self.root = value
            return
        parent, last = self._parent(parts), parts[-1]
        if isinstance(parent, dict):
            parent[last] = value
        elif last == "-":
            parent.append(value)
        else:
            parent.insert(_index(last, len(parent) + 1), value)

    def _remove(self, parts: list[str]) -> Any:
        if not parts:
            raise PatchFailed("the whole value cannot be removed")
        parent = self._parent(parts)
        return parent.pop(_key(parent, parts[-1]))

    def _move(self, source: list[str], target: list[str]) -> None:
        if source == target:
            self.get(source)
            return
        if target[: len(source)] == source:
            raise PatchFailed("a value cannot be moved into itself")
        self._add(target, self._remove(source))
        self._went_deeper = self._went_deeper or len(target) > len(source)

    def _copy(self, source: list[str], target: list[str]) -> None:
        value = self.get(source)
        self._share(value, depth=len(target))
        # In full, also where it is overwritten later: the work has been done by then.
        self._copied_bytes += len(to_json(value))
        if self._copied_bytes > self._limits.artifact_bytes:
            raise PatchFailed(
                f"copies more than {self._limits.artifact_bytes} bytes (artifact_bytes)"
            )
        self._add(target, value)

    def _share(self, value: Any, *, depth: int) -> None:
        """From now on two places refer to `value`, so the next write to either copies it."""
        stack = [(value, depth + 1)]
        while stack:
            node, level = stack.pop()
            if isinstance(node, dict | list):
                if level > self._limits.depth:
                    raise PatchFailed(
                        f"the result is nested deeper than {self._limits.depth} levels (depth)"
                    )
                self._own.pop(id(node), None)
                children = node.values() if isinstance(node, dict) else node
                stack.extend((child, level + 1) for child in children)

    def _parent(self, parts: list[str]) -> Any:
        """The container of the last part, with every container on the way to it made our own."""
        node = self.root = self._owned(self.root)
        for part in parts[:-1]:
            key = _key(node, part)
            child = self._owned(node[key])
            node[key] = child
            node = child
        return node

    def _owned(self, node: Any) -> Any:
        if id(node) in self._own:
            return node
        if not isinstance(node, dict | list):
            raise PatchFailed("the path goes through a value that has no members")
        fresh = node.copy()
        self._own[id(fresh)] = fresh
        return fresh

    def _checked(self, value: Any, parts: list[str]) -> Any:
        self._walk(value, name="value", depth=len(parts))
        return value

    def _walk(self, value: Any, *, name: str, depth: int = 0) -> None:
        try:
            walk_json(value, limits=self._limits, field=name, depth=depth)
        except ValidationFailed as error:
            raise PatchFailed(error.message) from None


def _key(node: Any, part: str) -> Any:
    """The key under which an existing member or element of a container stands."""
    if isinstance(node, dict):
        if part not in node:
            raise PatchFailed("the path names a member that does not exist")
        return part
    if isinstance(node, list):
        return _index(part, len(node))
    raise PatchFailed("the path goes through a value that has no members")


def _index(part: str, size: int) -> int:
    """An array index as RFC 6901 writes it: digits without a leading zero."""
    if part == "-":
        raise PatchFailed("'-' names no element of the array")
    if not (part.isascii() and part.isdigit()) or (part[0] == "0" and part != "0"):
        raise PatchFailed("the path has a part that is not an array index")
    index = int(part)
    if index >= size:
        raise PatchFailed("the path names an index beyond the end of the array")
    return index
