"""`{{name}}` in the texts of definitions: which names a text uses."""

from __future__ import annotations

import re

PLACEHOLDER = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")
# Whatever else looks like one is a mistake, not text.
ANY_BRACES = re.compile(r"\{\{|\}\}")


def names_in(text: str) -> list[str]:
    """The names a text has places for, in order."""
    return PLACEHOLDER.findall(text)


def has_stray_braces(text: str) -> bool:
    """Whether braces are left that make no place."""
    return ANY_BRACES.search(PLACEHOLDER.sub("", text)) is not None
