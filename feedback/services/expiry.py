"""The end of uses: what has expired is deleted page by page; signals and snapshots stay.

It needs no other app than the foundation, so the periodic task works wherever the app is installed.
"""

from __future__ import annotations

from datetime import timedelta

from artifacts import clock, conf
from feedback.store.uses import delete_expired


def purge_expired() -> bool:
    """Delete one page of expired uses; whether it was full, so that more may be left."""
    settings = conf.settings()
    now, days = clock.now(), settings.USE_RETENTION_DAYS
    created_until = None if days is None else now - timedelta(days=days)
    return delete_expired(now, created_until, settings.USE_PURGE_BATCH) == settings.USE_PURGE_BATCH
