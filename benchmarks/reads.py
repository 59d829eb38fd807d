"""Reading the log: a long replay and a short tail, beside the same rows read by the driver."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import connection

from artifacts.core import AppEvent
from artifacts.workspace import Workspace
from benchmarks import floors, scenes
from benchmarks.measure import Timing, report, summary, timed

PAGE = 500
ROUNDS = 5


def replay(name: str, database: str, *, events: int) -> None:
    """Everything from seq 0 in pages, as the stored texts and as parsed envelopes."""
    workspace = _workspace_with(events)
    driver = floors.connect()
    text_sql = floors.sql(
        "SELECT text FROM artifactr_event WHERE workspace_id = {p} AND seq > {p} "
        "ORDER BY seq LIMIT {p}"
    )

    def stored() -> None:
        for after in range(0, events, PAGE):
            driver.execute(text_sql, (workspace.pk, after, PAGE)).fetchall()

    def texts() -> None:
        for after in range(0, events, PAGE):
            workspace.read_text(after_seq=after, limit=PAGE)

    def parsed() -> None:
        for after in range(0, events, PAGE):
            workspace.read(after_seq=after, limit=PAGE)

    floor = _each(stored, events)
    report(
        f"{name}, stored text",
        database=database,
        ours=_each(texts, events),
        floors={"stored text": floor},
    )
    report(
        f"{name}, parsed",
        database=database,
        ours=_each(parsed, events),
        floors={"stored text": floor},
    )
    driver.close()


def tail(name: str, database: str, *, events: int) -> None:
    """The last 50 of a long log."""
    workspace = _workspace_with(events)
    driver = floors.connect()
    text_sql = floors.sql(
        "SELECT text FROM artifactr_event WHERE workspace_id = {p} ORDER BY seq DESC LIMIT 50"
    )
    floor = timed(
        lambda: driver.execute(text_sql, (workspace.pk,)).fetchall(), seconds=1, warm_up=5
    )
    ours = timed(lambda: workspace.read_text(last=50), seconds=1, warm_up=5)
    report(name, database=database, ours=ours, floors={"stored text": floor})
    driver.close()


def _each(read: Callable[[], None], events: int) -> Timing:
    took: list[float] = []
    started = time.perf_counter()
    for _ in range(ROUNDS):
        now = time.perf_counter()
        read()
        took.append(time.perf_counter() - now)
    return summary(took, time.perf_counter() - started, each=events)


def _workspace_with(events: int) -> Workspace:
    workspace = scenes.opened(scenes.new_workspace("log"), scenes.HOST)
    batch = [AppEvent(name="measured", data={"text": scenes.PARAGRAPH * 3})] * 100
    for _ in range(events // 100):
        workspace.commit_all(batch)
    connection.ensure_connection()
    return workspace
