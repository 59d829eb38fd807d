"""When two JSON values are the same: Python alone would say that 1, 1.0 and true are equal."""

from __future__ import annotations

from typing import Any


def same_json(first: Any, second: Any) -> bool:
    """Whether both are written as the same JSON, the order of members apart.

    1, 1.0 and true are three values, and so are 0.0 and -0.0: each is stored as it is written.
    """
    return _equal(first, second, by_number=False)


def equal_json(first: Any, second: Any) -> bool:
    """Equality of the `test` operation (RFC 6902, 4.6): 1 equals 1.0, and never true."""
    return _equal(first, second, by_number=True)


def _equal(first: Any, second: Any, *, by_number: bool) -> bool:
    # A stack instead of recursion: depth is no reason to fail.
    stack = [(first, second)]
    while stack:
        one, other = stack.pop()
        if type(one) is not type(other):
            if not (by_number and _is_number(one) and _is_number(other) and one == other):
                return False
        elif type(one) is dict:
            if one.keys() != other.keys():
                return False
            stack.extend((value, other[name]) for name, value in one.items())
        elif type(one) is list:
            if len(one) != len(other):
                return False
            stack.extend(zip(one, other, strict=True))
        elif one != other or (one == 0 and not by_number and str(one) != str(other)):
            return False
    return True


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)
