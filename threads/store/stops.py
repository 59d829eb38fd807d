"""The mark of a run that somebody asked to stop."""

from __future__ import annotations

from datetime import datetime

from threads import models


def mark_stop(workspace_pk: int, run_id: str, *, at: datetime) -> bool:
    """Whether there is such a run that has not ended; the first request stays."""
    runs = models.Run.objects.filter(
        workspace_id=workspace_pk, public_id=run_id, status__in=models.Run.ACTIVE
    )
    return bool(runs.filter(stop_requested_at__isnull=True).update(stop_requested_at=at)) or (
        runs.exists()
    )
