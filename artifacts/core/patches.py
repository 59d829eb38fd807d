"""Patches: how one value of an artifact becomes the next.

The kinds of patch are in `patch_types`, JSON Patch is applied in `patch_apply` and made in
`patch_diff`, text edits are made in `patch_text`; here both kinds come together. Everything else
imports from this module.

Values are immutable by convention: a result shares with the data and the patch what it did not
change, and a patch made by `diff` shares with the new value. Copy before writing into one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import PatchFailed
from .json_equal import same_json
from .limits import DEFAULT_LIMITS, Limits
from .patch_apply import Patching, parse_pointer
from .patch_diff import diff
from .patch_text import change_between
from .patch_types import (
    AddOp,
    CopyOp,
    JsonPatch,
    MoveOp,
    Op,
    Patch,
    RemoveOp,
    ReplaceOp,
    TestOp,
    TextEdit,
    TextEdits,
    patch_adapter,
)

__all__ = [
    "AddOp",
    "CopyOp",
    "JsonPatch",
    "MoveOp",
    "Op",
    "Patch",
    "RemoveOp",
    "ReplaceOp",
    "TestOp",
    "TextEdit",
    "TextEdits",
    "apply_patch",
    "change_between",
    "diff",
    "patch_adapter",
    "same_json",
    "summarize_patch",
]

# The members by which an object calls itself, the first that it has, and so many characters of it.
NAMES = ("title", "name", "label")
NAME_CHARS = 60
_VERBS = {"add": "added", "remove": "removed", "replace": "changed"}


def apply_patch(data: Any, patch: JsonPatch | TextEdits, *, limits: Limits = DEFAULT_LIMITS) -> Any:
    """The patched value, or `patch_failed`; `data` stays as it is either way."""
    patching = Patching(data, limits=limits)
    if isinstance(patch, TextEdits):
        _edit_text(patching, patch, limits=limits)
    else:
        _apply_ops(patching, patch, limits=limits)
    return patching.finish()


def _apply_ops(patching: Patching, patch: JsonPatch, *, limits: Limits) -> None:
    if len(patch.ops) > limits.patch_ops:
        raise PatchFailed(f"ops: more than {limits.patch_ops} operations (patch_ops)")
    for index, op in enumerate(patch.ops):
        try:
            patching.apply(op)
        except PatchFailed as failure:
            raise PatchFailed(f"ops[{index}] ({op.op}): {failure.message}") from None


def _edit_text(patching: Patching, patch: TextEdits, *, limits: Limits) -> None:
    if len(patch.edits) > limits.text_edits:
        raise PatchFailed(f"edits: more than {limits.text_edits} edits (text_edits)")
    is_pointer = patch.field.startswith("/")
    try:
        parts = parse_pointer(patch.field, limits=limits) if is_pointer else [patch.field]
        text = patching.get(parts)
    except PatchFailed as failure:
        raise PatchFailed(f"field: {failure.message}") from None
    if not isinstance(text, str):
        raise PatchFailed("field: the value there is not a text")
    for index, edit in enumerate(patch.edits):
        try:
            text = _edited(text, edit, limits=limits)
        except PatchFailed as failure:
            raise PatchFailed(f"edits[{index}]: {failure.message}") from None
    patching.replace(parts, text)


def _edited(text: str, edit: TextEdit, *, limits: Limits) -> str:
    if not edit.old:
        if text:
            raise PatchFailed("old is empty, and the field is not")
        return edit.new
    at = text.find(edit.old)
    if at < 0:
        raise PatchFailed("old does not occur in the field")
    # From the next character on: occurrences that overlap are two, and so ambiguous.
    if text.find(edit.old, at + 1) >= 0:
        raise PatchFailed("old occurs more than once in the field")
    text = text[:at] + edit.new + text[at + len(edit.old) :]
    if len(text) > limits.artifact_bytes:
        raise PatchFailed(
            f"the result is larger than {limits.artifact_bytes} bytes (artifact_bytes)"
        )
    return text


def summarize_patch(
    patch: JsonPatch | TextEdits, before: Any = None, *, limits: Limits = DEFAULT_LIMITS
) -> str:
    """What a patch does, in a line; `before` tells a new member from one that is set anew."""
    if isinstance(patch, TextEdits):
        count = len(patch.edits)
        places = "" if count == 1 else f" in {count} places"
        return _shortened(f"edited {_printable(patch.field)}{places}", limits.summary_chars)
    patching = Patching(before, limits=limits)
    phrases = list(dict.fromkeys(_phrases(patch, patching, limits=limits)))
    return _joined(phrases, limits.summary_chars) or "changed nothing"


def _phrases(patch: JsonPatch, patching: Patching, *, limits: Limits) -> Iterator[str]:
    for op in patch.ops:
        match op:
            case TestOp():
                continue
            case MoveOp():
                yield f"moved {_place(op.from_)} to {_place(op.path)}"
            case CopyOp():
                yield f"copied {_place(op.from_)} to {_place(op.path)}"
            case _:
                verb = "changed" if _sets_anew(op, patching, limits=limits) else _VERBS[op.op]
                yield f"{verb} {_place(op.path)}{_named(getattr(op, 'value', None))}"


def _sets_anew(op: Op, patching: Patching, *, limits: Limits) -> bool:
    """Whether an `add` meets a member that is there: in an object it takes that one's place."""
    if not isinstance(op, AddOp):
        return False
    if not op.path:
        return True
    try:
        *path, last = parse_pointer(op.path, limits=limits)
        parent = patching.get(path)
    except PatchFailed:
        return False
    return isinstance(parent, dict) and last in parent


def _joined(phrases: list[str], most: int) -> str:
    text = _shortened(phrases[0], most) if phrases else ""
    for index, phrase in enumerate(phrases[1:], start=1):
        left = len(phrases) - index
        longer = f"{text}; {phrase}"
        if len(longer) + (len(f"; and {left - 1} more") if left > 1 else 0) > most:
            return _shortened(f"{text}; and {left} more", most)
        text = longer
    return text


def _named(value: Any) -> str:
    """What an object calls itself: its place is often an id, which tells people nothing."""
    names = (value.get(each) for each in NAMES) if isinstance(value, dict) else ()
    name = next((each for each in names if isinstance(each, str) and each.strip()), "")
    line = _shortened(_printable(" ".join(name[: NAME_CHARS * 2].split())), NAME_CHARS)
    return f" “{line}”" if line else ""


def _place(path: str) -> str:
    return _printable(path) or "the whole value"


def _printable(text: str) -> str:
    """A summary is one line, whatever member names hold."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
