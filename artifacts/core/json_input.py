"""Strict JSON from outside: what passes here can be stored, compared and written back unchanged.

Refused, with the field and the limit named and the input never repeated: too large, too deep, too
many values, duplicate members, NaN and infinities, integers beyond 64 bits, NUL (PostgreSQL stores
none) and lone surrogates (no UTF-8 form).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from math import isfinite
from typing import Any, NoReturn

from pydantic_core import to_json

from .errors import ValidationFailed
from .limits import Limits

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


class _Duplicate(ValueError):
    """An object names one member twice: readers disagree on which one counts (RFC 8259, 4)."""


class _Constant(ValueError):
    """NaN or Infinity, which Python's parser takes and JSON does not know."""


def parse_json(raw: bytes | str, *, limits: Limits, field: str = "body") -> Any:
    """The value of a JSON text, or `validation_failed`."""
    text = _decoded(raw, limits=limits, field=field)
    try:
        value = _decoder.decode(text)
    except RecursionError:
        # The parser gives up some hundred levels down, long before the end of a hostile body.
        _refuse_depth(limits, field)
    except _Duplicate:
        _refuse(field, "names a member of an object twice", "json_duplicate")
    except _Constant:
        _refuse(field, "must not contain NaN or an infinity", "json_number")
    except json.JSONDecodeError as error:
        _refuse(field, f"is not valid JSON at character {error.pos}", "json_invalid")
    except ValueError:  # an integer of thousands of digits
        _refuse(field, "contains an integer beyond 64 bits", "json_number")
    walk_json(value, limits=limits, field=field)
    return value


def check_json(value: Any, *, limits: Limits, field: str = "data") -> bytes:
    """The same rules for a value that is already parsed, whose size is that of artifact data; its
    text."""
    walk_json(value, limits=limits, field=field)
    text = to_json(value)
    if len(text) > limits.artifact_bytes:
        _refuse(field, f"is larger than {limits.artifact_bytes} bytes (artifact_bytes)", "too_long")
    return text


def walk_json(value: Any, *, limits: Limits, field: str, depth: int = 0) -> None:
    """Check every value and member name; `depth` is that of the place where `value` will stand."""
    room = limits.json_nodes - 1
    stack = [(_checked(value, field), depth + 1)]
    while stack:
        container, level = stack.pop()
        children: Collection[Any]
        if type(container) is dict:
            _check_names(container, field)
            children = container.values()
        elif type(container) is list:
            children = container
        else:
            continue
        if level > limits.depth:
            _refuse_depth(limits, field)
        room -= len(children)
        if room < 0:
            _refuse(field, f"has more than {limits.json_nodes} values (json_nodes)", "too_many")
        for child in children:
            kind = type(child)
            if kind is dict or kind is list:
                stack.append((child, level + 1))
            elif kind is str:
                if "\0" in child or not child.isascii():
                    _check_text(child, field)
            else:
                _checked(child, field)


def _checked(value: Any, field: str) -> Any:
    kind = type(value)
    if kind is str:
        _check_text(value, field)
    elif kind is int:
        if not _INT_MIN <= value <= _INT_MAX:
            _refuse(field, "contains an integer beyond 64 bits", "json_number")
    elif kind is float:
        if not isfinite(value):
            _refuse(field, "contains a number that is not finite", "json_number")
    elif value is not None and kind not in (bool, dict, list):
        _refuse(field, "contains a value that is no JSON type", "json_type")
    return value


def _check_names(members: dict[Any, Any], field: str) -> None:
    try:
        names = "".join(members)  # all at once: a join is one call, and refuses what is no string
    except TypeError:
        _refuse(field, "has a member whose name is not a string", "json_type")
    _check_text(names, field)


def _check_text(text: str, field: str) -> None:
    if "\0" in text:
        _refuse(field, "must not contain NUL", "json_text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            _refuse(field, "must not contain lone surrogates", "json_text")


def _decoded(raw: bytes | str, *, limits: Limits, field: str) -> str:
    try:
        size = len(raw) if isinstance(raw, bytes) or raw.isascii() else len(raw.encode())
        if size > limits.body_bytes:
            _refuse(field, f"is larger than {limits.body_bytes} bytes (body_bytes)", "too_long")
        return raw if isinstance(raw, str) else raw.decode()
    except UnicodeError:
        _refuse(field, "is not valid UTF-8", "json_invalid")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Duplicate
    return members


def _constant(name: str) -> NoReturn:
    raise _Constant


def _refuse_depth(limits: Limits, field: str) -> NoReturn:
    _refuse(field, f"is nested deeper than {limits.depth} levels (depth)", "too_deep")


def _refuse(field: str, message: str, kind: str) -> NoReturn:
    raise ValidationFailed.at([field], message, kind) from None


_decoder = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant)
