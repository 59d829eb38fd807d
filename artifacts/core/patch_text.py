"""The change of one text as anchored edits: they read better than the whole, and weigh less."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from operator import eq
from typing import Any

from .json_equal import same_json
from .limits import DEFAULT_LIMITS, Limits
from .patch_diff import changed_range, diff
from .patch_types import JsonPatch, TextEdit, TextEdits

# A shorter text is replaced as a whole; longer ones are compared up to this many pairs of lines.
SHORT_CHARS = 200
MOST_PAIRS = 1_000_000


def change_between(
    before: Any, after: Any, *, limits: Limits = DEFAULT_LIMITS
) -> JsonPatch | TextEdits:
    """The most readable patch from `before` to `after`: anchored edits where only one text differs
    and they are smaller than it, else a JSON Patch."""
    field = _changed_text(before, after)
    if field is not None:
        edits = _anchored(before[field], after[field], limits=limits)
        if edits:
            return TextEdits(field=field, edits=edits)
    return diff(before, after, limits=limits)


def _changed_text(before: Any, after: Any) -> str | None:
    """The one member that differs, if it is a long text on both sides."""
    if not (isinstance(before, dict) and isinstance(after, dict)) or before.keys() != after.keys():
        return None
    changed = [name for name, value in before.items() if not same_json(value, after[name])]
    if len(changed) != 1 or changed[0].startswith("/"):  # a field that starts so is a pointer
        return None
    old, new = before[changed[0]], after[changed[0]]
    is_long = isinstance(old, str) and isinstance(new, str) and len(old) >= SHORT_CHARS
    return changed[0] if is_long else None


def _anchored(old: str, new: str, *, limits: Limits) -> list[TextEdit] | None:
    lines, wanted = old.splitlines(keepends=True), new.splitlines(keepends=True)
    changed = changed_range(lines, wanted, eq)
    if len(changed[0]) * len(changed[1]) > MOST_PAIRS:
        return None
    edits: list[TextEdit] = []
    weight = 0
    for edit in _line_edits(lines, wanted, changed):
        edits.append(edit)
        weight += len(edit.old) + len(edit.new)
        if not edit.old or len(edits) > limits.text_edits or weight >= len(new):
            return None
    return edits


def _line_edits(
    lines: list[str], wanted: list[str], changed: tuple[range, range]
) -> Iterator[TextEdit]:
    """Each changed run of lines in turn, with as many lines around it as make it unique."""
    now, (old, new), shift = list(lines), changed, 0
    matcher = SequenceMatcher(
        None, lines[old.start : old.stop], wanted[new.start : new.stop], autojunk=False
    )
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        start, end = old.start + i1 + shift, old.start + i2 + shift
        put = wanted[new.start + j1 : new.start + j2]
        low, high = _unique_around(now, start, end)
        replaced = now[low:start] + put + now[end:high]
        yield TextEdit(old="".join(now[low:high]), new="".join(replaced))
        now[start:end] = put
        shift += len(put) - (end - start)


def _unique_around(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """A range of lines around another that occurs once. Each step takes in twice as many lines
    as the last: one line at a time would read a long text of equal lines again for each."""
    text, step = "".join(lines), 1
    low, high = start, end
    while not _is_once("".join(lines[low:high]), text) and (low > 0 or high < len(lines)):
        low, high, step = max(low - step, 0), min(high + step, len(lines)), step * 2
    return low, high


def _is_once(part: str, text: str) -> bool:
    at = text.find(part)
    return bool(part) and at >= 0 and text.find(part, at + 1) < 0
