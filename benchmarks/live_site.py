"""The measured server: the site's own application, with a writer in its process."""

from __future__ import annotations

import time
from typing import Any

from django.db import connection

# First, as it loads Django; the rest reads models.
from artifactr_site.asgi import application as site
from artifacts.core import AppEvent
from artifacts.workspace import on_append
from benchmarks import scenes
from benchmarks.live_control import Written, controlled, paced
from benchmarks.measure import timed


def write(*, workspace_id: str, count: int, pause: float, batch: int) -> list[Written]:
    """Commit so many events, `batch` at a time."""
    workspace, written = scenes.opened(workspace_id, scenes.HOST), list[Written]()
    event = AppEvent(name="measured", data={"text": scenes.PARAGRAPH * 3})
    called = 0.0

    def committed(what: Any) -> None:
        now = time.perf_counter()
        written.extend((seq, called, now) for seq in range(what.first_seq, what.last_seq + 1))

    end = on_append(workspace.pk, committed)
    try:
        for _ in paced(count // batch, pause):
            called = time.perf_counter()
            workspace.commit_all([event] * batch)
    finally:
        end()
        connection.close()
    return written


def edit(*, workspace_id: str, seconds: float) -> dict[str, float]:
    """Edit a plan for a while."""
    try:
        return timed(scenes.plan_edits(0, workspace_id), seconds=seconds).shown()
    finally:
        connection.close()


application = controlled(site, {"write": write, "edit": edit})
