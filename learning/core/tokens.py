"""How much of a model's window a text takes, as counted offline.

A host may count with a model's own tokenizer instead; the name of the counter stands in every
manifest, because budgets are only comparable under one counter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A function from text to tokens, and what it is called."""

    name: str
    count: Callable[[str], int]


def quarter_of_bytes(text: str) -> int:
    """A token for every four bytes of UTF-8, rounded up."""
    size = len(text) if text.isascii() else len(text.encode())
    return -(-size // BYTES_PER_TOKEN)


OFFLINE = TokenCounter("utf8_bytes/4", quarter_of_bytes)
