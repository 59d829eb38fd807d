"""The patch that turns one JSON value into another, small enough to read.

Own code rather than `jsonpatch.make_patch`: it also gets the types right, but takes several times
as long for one changed member, moves items about, and knows no limit on paths and operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, TypeVar

from jsonpointer import escape
from pydantic_core import to_json

from .json_equal import same_json
from .limits import DEFAULT_LIMITS, Limits
from .patch_types import AddOp, JsonPatch, Op, RemoveOp, ReplaceOp

T = TypeVar("T")

# Matching two arrays up costs the product of their lengths, and at worst more: past this many
# pairs of items they are compared one by one in their order.
_MATCH_PAIRS = 10_000


def diff(before: Any, after: Any, *, limits: Limits = DEFAULT_LIMITS) -> JsonPatch:
    """Operations that turn `before` into `after`, types included; none if they are the same.

    Where they would exceed the limits of a patch, the smallest value around is replaced whole.
    The patch shares the new values with `after`.
    """
    return JsonPatch.model_construct(ops=tuple(_compare(before, after, path="", limits=limits)))


def _compare(before: Any, after: Any, *, path: str, limits: Limits) -> list[Op]:
    is_container = type(before) in (dict, list) and type(before) is type(after)
    if not is_container or _is_deepest(path, limits):
        return [] if same_json(before, after) else [_replace(path, after)]
    changes = _object_changes if isinstance(before, dict) else _array_changes
    # One more than may be: enough to know, however many there are.
    ops = list(islice(changes(before, after, path=path, limits=limits), limits.patch_ops + 1))
    return ops if _fits(ops, limits) else [_replace(path, after)]


def _is_deepest(path: str, limits: Limits) -> bool:
    return path.count("/") >= min(limits.patch_path_parts, limits.depth)


def _fits(ops: list[Op], limits: Limits) -> bool:
    return len(ops) <= limits.patch_ops and all(
        len(op.path.encode(errors="replace")) <= limits.patch_path_bytes for op in ops
    )


def _object_changes(before: Any, after: Any, *, path: str, limits: Limits) -> Iterator[Op]:
    for name, old in before.items():
        if name not in after:
            yield RemoveOp.model_construct(path=f"{path}/{escape(name)}")
        elif not _is_same_text(old, after[name]):
            yield from _compare(old, after[name], path=f"{path}/{escape(name)}", limits=limits)
    for name, new in after.items():
        if name not in before:
            yield AddOp.model_construct(path=f"{path}/{escape(name)}", value=new)


def _array_changes(before: Any, after: Any, *, path: str, limits: Limits) -> Iterator[Op]:
    """From left to right, so that what is left of an operation is already as in `after`."""
    for old, new in _runs(before, after):
        paired = min(len(old), len(new))
        for i, j in zip(old, new, strict=False):
            yield from _compare(before[i], after[j], path=f"{path}/{j}", limits=limits)
        for _ in old[paired:]:
            yield RemoveOp.model_construct(path=f"{path}/{new.start + paired}")
        for j in new[paired:]:
            yield AddOp.model_construct(path=f"{path}/{j}", value=after[j])


def changed_range(
    before: Sequence[T], after: Sequence[T], is_same: Callable[[T, T], bool]
) -> tuple[range, range]:
    """What lies between the items that two sequences begin and end with alike, in each of them."""
    shortest = min(len(before), len(after))
    head = 0
    while head < shortest and is_same(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shortest - head and is_same(before[-1 - tail], after[-1 - tail]):
        tail += 1
    return range(head, len(before) - tail), range(head, len(after) - tail)


def _runs(before: list[Any], after: list[Any]) -> list[tuple[range, range]]:
    """Where two arrays differ: indexes of old items and of the new ones in their place."""
    old, new = changed_range(before, after, _is_same_text)
    if not 0 < len(old) * len(new) <= _MATCH_PAIRS:
        return [(old, new)]
    matcher = SequenceMatcher(
        None, [_text(before[i]) for i in old], [_text(after[j]) for j in new], autojunk=False
    )
    return [
        (old[i1:i2], new[j1:j2]) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    ]


def _is_same_text(old: Any, new: Any) -> bool:
    """Nearly always enough to pass by what is the same, at a small part of `same_json`'s price."""
    if type(old) is str:
        return type(new) is str and old == new
    return old is new or _text(old) == _text(new)


def _text(item: Any) -> object:
    try:
        return to_json(item)
    except ValueError:  # nested too deep to be written: compare it item by item
        return object()


def _replace(path: str, value: Any) -> ReplaceOp:
    return ReplaceOp.model_construct(path=path, value=value)
