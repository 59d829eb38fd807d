"""From a commit to the clients, beside a bare server on the same machine in the same run.

On SQLite the writer is a thread of the server; on PostgreSQL it is another process, with Redis
between. Latencies count from the end of the commit, except `another process`, whose floor commits
too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import redis
from django.db import connection, transaction

from artifacts.core import AppEvent
from artifacts.keys import create_key
from artifacts.models import Tenant
from benchmarks import floors, reads, scenes
from benchmarks.live_clients import Arrivals, Clients
from benchmarks.live_control import Written, paced
from benchmarks.live_servers import Stand, asked, stands
from benchmarks.measure import Timing, summary

OURS = {"type": "hello", "protocol": "artifactr.v1"}
# Events committed at once in a burst.
BATCH = 50
WARM_UP = 5


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured; `paces` has sockets, events, and the seconds between two of them."""

    paces: tuple[tuple[int, int, float], ...]
    burst: int
    idle: int
    seconds: float


FULL = Size(((1, 200, 0.01), (100, 100, 0.04), (500, 50, 0.15)), burst=200, idle=500, seconds=3.0)
QUICK = Size(((1, 40, 0.01), (20, 20, 0.02), (100, 10, 0.05)), burst=50, idle=100, seconds=0.7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A server with what its clients say first and what its writer is told."""

    stand: Stand
    url: str
    key: str
    hello: dict[str, Any]
    order: dict[str, Any]
    batch: dict[str, Any]

    def write(self, count: int, pause: float) -> list[Written]:
        return self.stand.write(count=count, pause=pause, **self.order)

    def burst(self, count: int) -> list[Written]:
        return self.stand.write(count=count, pause=0, **{**self.order, **self.batch})


def delivery(name: str, database: str, *, quick: bool) -> None:
    """One line for each number of sockets, then a burst to the most of them."""
    size = QUICK if quick else FULL
    with _sides(name) as sides, Clients.running() as clients:
        for sockets, events, pause in size.paces:
            found: dict[str, Timing] = {}
            bursts: dict[str, float] = {}
            for label, side in sides.items():
                clients.open([side.url] * sockets, key=side.key, hello=side.hello)
                side.write(WARM_UP, pause)
                clients.gather(WARM_UP * sockets)
                written = side.write(events, pause)
                arrivals = clients.gather(events * sockets)
                found[label] = _latencies(written, arrivals)
                if sockets == 1 and label == "ours" and side.stand.redis_url is not None:
                    called = [(seq, called, called) for seq, called, _ in written]
                    _another_process(
                        database, _latencies(called, arrivals), side.stand.redis_url, events, pause
                    )
                if sockets == size.paces[-1][0]:
                    written = side.burst(size.burst)
                    bursts[label] = _rate(written, clients.gather(size.burst * sockets))
                clients.close()
            _latency(f"commit to delivery, {_sockets(sockets)}", database, found)
            if bursts:
                title = f"deliveries of a burst of {size.burst} events to {_sockets(sockets)}"
                _rates(title, database, bursts)


def replay(name: str, database: str, *, events: int) -> None:
    """The whole log to one socket, beside the same rows read by the driver and not sent."""
    workspace = reads._workspace_with(events)
    driver = floors.connect()
    text_sql = floors.sql(
        "SELECT text FROM artifactr_event WHERE workspace_id = {p} AND seq > {p} "
        "ORDER BY seq LIMIT {p}"
    )

    def stored() -> None:
        for after in range(0, events, reads.PAGE):
            driver.execute(text_sql, (workspace.pk, after, reads.PAGE)).fetchall()

    rates = {"stored text": reads._each(stored, events).per_second}
    driver.close()
    with _sides(name) as sides, Clients.running() as clients:
        ours, bare = sides["ours"], sides["bare server"]
        hellos = {
            "ours": (ours.stand.url(workspace.id), OURS),
            "bare server": (bare.url, {"replay": events, **bare.hello}),
        }
        for label, (url, hello) in hellos.items():
            took = []
            for _ in range(reads.ROUNDS):
                took += clients.open([url], key=ours.key, hello=hello)
                clients.gather(events)
                clients.close()
            rates[label] = events / sorted(took)[len(took) // 2]
    _rates(name, database, rates)


def idle(name: str, database: str, *, quick: bool) -> None:
    """What sockets cost that nobody writes to, each in a workspace of its own."""
    size = QUICK if quick else FULL
    with _sides(name) as sides, Clients.running() as clients:
        ours, bare = sides["ours"], sides["bare server"]
        with transaction.atomic():
            places = [ours.stand.url(scenes.new_workspace(name)) for _ in range(size.idle)]
        workspace_id = ours.order["workspace_id"]
        memory: dict[str, float] = {}
        rates: dict[str, list[float]] = {"none": [], "idle": []}

        def edits() -> float:
            found = asked(
                ours.stand.sockets, "edit", workspace_id=workspace_id, seconds=size.seconds
            )
            return float(found["per_second"])

        edits()
        for label, side, urls in (
            ("ours", ours, places),
            ("bare server", bare, [bare.url] * size.idle),
        ):
            _warmed(clients, side, urls[:1])
            before = side.stand.sockets.memory_kb
            clients.open(urls, key=side.key, hello=side.hello)
            time.sleep(1)
            memory[label] = (side.stand.sockets.memory_kb - before) / size.idle
            clients.close()
        # Without and with by turns, since the machine's speed drifts.
        for _ in range(2):
            rates["none"].append(edits())
            clients.open(places, key=ours.key, hello=ours.hello)
            rates["idle"].append(edits())
            clients.close()
    _print(
        f"memory of an idle socket, {size.idle} open",
        database,
        ours={"kb": round(memory["ours"], 1)},
        floors={"bare server": {"kb": round(memory["bare server"], 1)}},
        times_floor={"bare server": round(memory["ours"] / memory["bare server"], 2)},
    )
    _rates(
        f"plan edits beside {size.idle} idle sockets of other workspaces",
        database,
        {"ours": sum(rates["idle"]) / 2, "no sockets": sum(rates["none"]) / 2},
    )


@contextmanager
def _sides(name: str) -> Iterator[dict[str, Side]]:
    tenant, _ = Tenant.objects.get_or_create(public_id="bench", defaults={"name": "bench"})
    _, key = create_key(
        tenant=tenant, workspace=None, name="bench", role="admin", actor=scenes.HOST
    )
    workspace_id = scenes.new_workspace(name)
    workspace = scenes.opened(workspace_id, scenes.HOST)
    workspace.record(AppEvent(name="measured", data={"text": scenes.PARAGRAPH * 3}))
    chars = len(workspace.read_text(last=1)[0])
    connection.close()
    with stands(has_redis=not floors.is_sqlite()) as (ours, bare):
        yield {
            "ours": Side(
                stand=ours,
                url=ours.url(workspace_id),
                key=key,
                hello={**OURS, "from_head": True},
                order={"workspace_id": workspace_id, "batch": 1},
                batch={"batch": BATCH},
            ),
            "bare server": Side(
                stand=bare,
                url=bare.url(workspace_id),
                key=key,
                hello={"chars": chars},
                order={"chars": chars},
                batch={},
            ),
        }


def _warmed(clients: Clients, side: Side, urls: list[str]) -> None:
    """What the first socket of a server loads is not the price of a socket."""
    clients.open(urls, key=side.key, hello=side.hello)
    clients.close()


def _another_process(
    database: str, ours: Timing, redis_url: str, events: int, pause: float
) -> None:
    """Beside one commit of an event, its Redis publish and the receiving of it, at the same pace."""
    floors.drop()
    floors.prepare(1, "{}")
    driver, client = floors.connect(), redis.Redis.from_url(redis_url)
    pubsub: Any = client.pubsub()
    pubsub.subscribe("bench.commits")
    text = json.dumps({"text": scenes.PARAGRAPH * 3})
    took = []
    for _ in paced(events, pause):
        began = time.perf_counter()
        driver.execute("BEGIN")
        seq = driver.execute(floors.sql(floors.LOCK), (1,)).fetchone()[0]
        driver.execute(floors.sql(floors.LOG), (1, seq, text))
        driver.execute("COMMIT")
        client.publish("bench.commits", text)
        while (pubsub.get_message(timeout=10) or {}).get("type") != "message":
            pass
        took.append(time.perf_counter() - began)
    driver.close()
    client.close()
    floors.drop()
    title = "call of commit to delivery in another process, 1 socket"
    _latency(title, database, {"ours": ours, "commit + Redis": summary(took, sum(took))})


def _latencies(written: list[Written], arrivals: Arrivals) -> Timing:
    since = {seq: at for seq, _, at in written}
    took = [came - since[seq] for seq, times in arrivals.items() for came in times]
    return summary(took, max(sum(took), 1e-9))


def _rate(written: list[Written], arrivals: Arrivals) -> float:
    """Deliveries a second, from the first commit to the last arrival."""
    came = [at for times in arrivals.values() for at in times]
    return len(came) / (max(came) - min(at for _, _, at in written))


def _latency(name: str, database: str, found: dict[str, Timing]) -> None:
    """One line; `times_floor` is ours over the floor: 1 is as quick, less is better."""
    ours = found["ours"]
    others = {label: timing for label, timing in found.items() if label != "ours"}
    _print(
        name,
        database,
        ours=_milliseconds(ours),
        floors={label: _milliseconds(timing) for label, timing in others.items()},
        times_floor={label: round(ours.p50_ms / each.p50_ms, 2) for label, each in others.items()},
    )


def _milliseconds(timing: Timing) -> dict[str, float]:
    return {"p50_ms": round(timing.p50_ms, 3), "p99_ms": round(timing.p99_ms, 3)}


def _rates(name: str, database: str, rates: dict[str, float]) -> None:
    """One line; `ratio` is ours over the floor: 1 is as fast, more is better."""
    others = {label: rate for label, rate in rates.items() if label != "ours"}
    _print(
        name,
        database,
        ours={"per_second": round(rates["ours"], 1)},
        floors={label: {"per_second": round(rate, 1)} for label, rate in others.items()},
        ratio={label: round(rates["ours"] / rate, 3) for label, rate in others.items()},
    )


def _print(name: str, database: str, **members: Any) -> None:
    print(json.dumps({"measured": name, "database": database, **members}), flush=True)


def _sockets(count: int) -> str:
    return "1 socket" if count == 1 else f"{count} sockets"
