"""The change of one text as anchored edits: they read better than the whole, and weigh less."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from .json_equal import same_json
from .limits import DEFAULT_LIMITS, Limits
from .patch_diff import diff
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
    if len(lines) * len(wanted) > MOST_PAIRS:
        return None
    edits: list[TextEdit] = []
    weight = 0
    for edit in _line_edits(lines, wanted):
        edits.append(edit)
        weight += len(edit.old) + len(edit.new)
        if not edit.old or len(edits) > limits.text_edits or weight >= len(new):
            return None
    return edits


def _line_edits(lines: list[str], wanted: list[str]) -> Iterator[TextEdit]:
    """Each changed run of lines in turn, with as many lines around it as make it unique."""
    now, shift = list(lines), 0
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, lines, wanted, False).get_opcodes():
        if tag == "equal":
            continue
        start, end, text = i1 + shift, i2 + shift, "".join(now)
        low, high = start, end
        while not _is_once("".join(now[low:high]), text) and (low > 0 or high < len(now)):
            low, high = max(low - 1, 0), min(high + 1, len(now))
        replaced = now[low:start] + wanted[j1:j2] + now[end:high]
        yield TextEdit(old="".join(now[low:high]), new="".join(replaced))
        now[start:end] = wanted[j1:j2]
        shift += (j2 - j1) - (i2 - i1)


def _is_once(part: str, text: str) -> bool:
    at = text.find(part)
    return bool(part) and at >= 0 and text.find(part, at + 1) < 0
