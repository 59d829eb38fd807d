"""The one JSON text of a value (RFC 8785), and its hash: equal values, equal bytes, everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import rfc8785

# What makes no difference to what a definition says.
NOT_HASHED = frozenset({"active"})


def canonical_json(value: Any) -> str:
    return rfc8785.dumps(value).decode()


def body_of(definition: Mapping[str, Any]) -> str:
    """What is kept of a definition: as it was written, so that no newer default changes it."""
    kept = {name: value for name, value in definition.items() if name not in NOT_HASHED}
    return canonical_json(kept)


def sha256_of(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
