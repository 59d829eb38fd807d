"""The end of uses: what has expired is deleted page by page; signals and snapshots stay.

It needs no other app than the foundation, so the periodic task works wherever the app is installed.
"""

from __future__ import annotations

import time
from datetime import timedelta

from artifacts import clock, conf
from feedback.store.uses import delete_expired, rows_at_once

# Between two parts of a page, where all writers share one lock.
SHORTEST_PAUSE_SECONDS = 0.01


def purge_expired() -> bool:
    """Delete one page of expired uses; whether it was full, so that more may be left."""
    settings = conf.settings()
    now, days = clock.now(), settings.USE_RETENTION_DAYS
    created_until = None if days is None else now - timedelta(days=days)
    left = settings.USE_PURGE_BATCH
    at_once = rows_at_once()
    while left:
        part = left if at_once is None else min(left, at_once)
        started = time.monotonic()
        deleted = delete_expired(now, created_until, part)
        left -= deleted
        if deleted < part:
            return False
        if at_once is not None:
            # At least half of the time is others', so that no write waits for more than one part.
            time.sleep(max(SHORTEST_PAUSE_SECONDS, time.monotonic() - started))
    return True
