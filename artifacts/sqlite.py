"""What a SQLite database needs to carry several writers; for a host's settings, so no imports.

DATABASES = {"default": {"ENGINE": …, "NAME": …, "OPTIONS": sqlite_options()}}
"""

from __future__ import annotations

from typing import Any


def sqlite_options(*, timeout: int = 20) -> dict[str, Any]:
    """Give the OPTIONS of a SQLite database: writers queue, and no statement slips past a guard.

    Without IMMEDIATE two writers fail when both upgrade their lock. Without recursive triggers an
    INSERT OR REPLACE deletes rows unseen. The wait for the lock is unfair, so it must be long.
    """
    return {
        "transaction_mode": "IMMEDIATE",
        "timeout": timeout,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA recursive_triggers=ON;"
        ),
    }
