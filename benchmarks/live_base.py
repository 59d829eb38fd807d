"""What live measurements are held against besides the bare server."""

from __future__ import annotations

import json
import time
from typing import Any

import redis

from benchmarks import floors, reads, scenes
from benchmarks.live_control import paced

HEARD = "bench.commits"


def commits_heard(redis_url: str, events: int, pause: float) -> list[float]:
    """Commits of one event, each published and received before the next, at the same pace."""
    floors.drop()
    floors.prepare(1, "{}")
    driver, client = floors.connect(), redis.Redis.from_url(redis_url)
    pubsub: Any = client.pubsub()
    pubsub.subscribe(HEARD)
    text = json.dumps({"text": scenes.PARAGRAPH * 3})
    took = []
    for _ in paced(events, pause):
        began = time.perf_counter()
        driver.execute("BEGIN")
        seq = driver.execute(floors.sql(floors.LOCK), (1,)).fetchone()[0]
        driver.execute(floors.sql(floors.LOG), (1, seq, text))
        driver.execute("COMMIT")
        client.publish(HEARD, text)
        while (pubsub.get_message(timeout=10) or {}).get("type") != "message":
            pass
        took.append(time.perf_counter() - began)
    pubsub.close()
    driver.close()
    client.close()
    floors.drop()
    return took


def stored_texts(workspace_pk: int, events: int) -> float:
    """Events a second that the driver reads."""
    driver = floors.connect()
    text_sql = floors.sql(
        "SELECT text FROM artifactr_event WHERE workspace_id = {p} AND seq > {p} "
        "ORDER BY seq LIMIT {p}"
    )

    def stored() -> None:
        for after in range(0, events, reads.PAGE):
            driver.execute(text_sql, (workspace_pk, after, reads.PAGE)).fetchall()

    try:
        return reads._each(stored, events).per_second
    finally:
        driver.close()
