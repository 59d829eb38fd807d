"""Names of things: fresh ids and ids derived from an address.

`new_id` is the one impure function of core; rules may not import it, so the same command against
the same state always decides the same.
"""

from __future__ import annotations

import hashlib
import secrets

LONG_PREFIXES = frozenset({"use", "rec"})


def new_id(prefix: str) -> str:
    """A fresh id such as `art_1f0c…`: 16 random hex digits, 32 for uses and records."""
    return f"{prefix}_{secrets.token_hex(16 if prefix in LONG_PREFIXES else 8)}"


def address_id(collection: str, entity: str, key: str) -> str:
    """The id of the artifact at an address; the same address is the same artifact everywhere."""
    digest = hashlib.sha256("\0".join((collection, entity, key)).encode()).hexdigest()
    return f"art_{digest[:16]}"
