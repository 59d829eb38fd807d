"""From a commit to the clients, beside a bare server on the same machine in the same run.

On SQLite the writer is a thread of the server; on PostgreSQL it is another process, with Redis
between. Latencies count from the end of the commit, except those of `another process`, whose floor
commits too.
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection, transaction

from artifacts.core import AppEvent
from artifacts.keys import create_key
from artifacts.models import Tenant
from benchmarks import floors, live_base, live_report, reads, scenes
from benchmarks.live_clients import Clients
from benchmarks.live_control import Written
from benchmarks.live_servers import Stand, asked, stands

OURS = {"type": "hello", "protocol": "artifactr.v1"}
BARE = "bare server"
# Events committed at once in a burst.
BATCH = 50
WARM_UP = 5
# Ours and its floor take turns, since the machine's speed drifts.
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured; `paces` has sockets, events, and the seconds between two of them."""

    paces: tuple[tuple[int, int, float], ...]
    burst: int
    replayed: int
    idle: int
    seconds: float


FULL = Size(((1, 200, 0.01), (100, 100, 0.04), (500, 30, 0.15)), 200, 10_000, 500, 2.0)
QUICK = Size(((1, 40, 0.01), (20, 20, 0.02), (100, 10, 0.05)), 50, 1_000, 100, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A server with what its clients say first and what its writer is told."""

    stand: Stand
    url: str
    hello: dict[str, Any]
    order: dict[str, Any]
    burst: dict[str, Any]

    def write(self, count: int, pause: float) -> list[Written]:
        return self.stand.write(count=count, pause=pause, **self.order)

    def write_at_once(self, count: int) -> list[Written]:
        return self.stand.write(count=count, pause=0, **{**self.order, **self.burst})


class Live:
    """The measurements, on servers that are started for the first of them and kept."""

    def __init__(self, database: str, *, quick: bool) -> None:
        self._database, self._size = database, QUICK if quick else FULL
        self._stack = ExitStack()

    def close(self) -> None:
        self._stack.close()

    # What is measured

    def idle(self, name: str) -> None:
        """What sockets cost that nobody writes to, each in a workspace of its own.

        Comes first: a server that had many sockets before has kept their memory.
        """
        count = self._size.idle
        ours, bare = self._sides["ours"], self._sides[BARE]
        with transaction.atomic():
            places = [ours.stand.url(scenes.new_workspace(name)) for _ in range(count)]
        memory = self._kilobytes(ours, places), self._kilobytes(bare, [bare.url] * count)
        live_report.tell(
            f"{name}, memory of each of {count}",
            self._database,
            ours={"kb": round(memory[0], 1)},
            floors={BARE: {"kb": round(memory[1], 1)}},
            times_floor={BARE: round(memory[0] / memory[1], 2)},
        )
        rates = self._edits(ours, places)
        live_report.tell_rates(
            f"{name}, plan edits beside {count} in other workspaces", self._database, rates
        )

    def delivery(self, name: str) -> None:
        """One line for each number of sockets, then a burst to the most of them."""
        burst, most = self._size.burst, self._size.paces[-1][0]
        bursts: dict[str, float] = {}
        for sockets, events, pause in self._size.paces:
            took: dict[str, list[float]] = {label: [] for label in self._sides}
            for side in self._sides.values():
                self._open([side.url] * sockets, side.hello)
            for _ in range(ROUNDS):
                for label, side in self._sides.items():
                    took[label] += self._delivered(side, sockets, events // ROUNDS, pause)
            if sockets == most:
                for label, side in self._sides.items():
                    written = side.write_at_once(burst)
                    bursts[label] = live_report.rate(written, self._clients.gather(burst * sockets))
            self._clients.close()
            title = f"{name}, {live_report.sockets_named(sockets)}"
            live_report.tell_latency(title, self._database, took)
        title = f"{name}, {burst} events at once, {live_report.sockets_named(most)}"
        live_report.tell_rates(title, self._database, bursts)

    def another_process(self, name: str) -> None:
        """From the call of a commit in one process to a client of another, beside one commit of an
        event, its Redis publish and the receiving of it."""
        ours, (_, events, pause) = self._sides["ours"], self._size.paces[0]
        if ours.stand.redis_url is None:
            return
        took: dict[str, list[float]] = {"ours": [], "commit + Redis": []}
        self._open([ours.url], ours.hello)
        for _ in range(ROUNDS):
            took["ours"] += self._delivered(ours, 1, events // ROUNDS, pause, since_call=True)
            took["commit + Redis"] += live_base.commits_heard(
                ours.stand.redis_url, events // ROUNDS, pause
            )
        self._clients.close()
        live_report.tell_latency(name, self._database, took)

    def replay(self, name: str) -> None:
        """A whole log to one socket, beside the same rows read by the driver and not sent."""
        events, bare = self._size.replayed, self._sides[BARE]
        workspace = reads._workspace_with(events)
        hellos = {
            "ours": (self._sides["ours"].stand.url(workspace.id), OURS),
            BARE: (bare.url, {"replay": events, **bare.hello}),
        }
        rates: dict[str, float] = {}
        for label, (url, hello) in hellos.items():
            took: list[float] = []
            for _ in range(reads.ROUNDS):
                took += self._open([url], hello)
                self._clients.gather(events)
                self._clients.close()
            rates[label] = events / statistics.median(took)
        rates["stored text"] = live_base.stored_texts(workspace.pk, events)
        live_report.tell_rates(name, self._database, rates)

    # What it takes

    @cached_property
    def _clients(self) -> Clients:
        return self._stack.enter_context(Clients.running())

    @cached_property
    def _key(self) -> str:
        tenant, _ = Tenant.objects.get_or_create(public_id="bench", defaults={"name": "bench"})
        _, key = create_key(
            tenant=tenant, workspace=None, name="bench", role="admin", actor=scenes.HOST
        )
        return key

    @cached_property
    def _sides(self) -> dict[str, Side]:
        workspace_id = scenes.new_workspace("live")
        workspace = scenes.opened(workspace_id, scenes.HOST)
        workspace.record(AppEvent(name="measured", data={"text": scenes.PARAGRAPH * 3}))
        chars = len(workspace.read_text(last=1)[0])
        connection.close()
        has_redis = not floors.is_sqlite()
        ours, bare = self._stack.enter_context(stands(has_redis=has_redis))
        return {
            "ours": Side(
                stand=ours,
                url=ours.url(workspace_id),
                hello={**OURS, "from_head": True},
                order={"workspace_id": workspace_id, "batch": 1},
                burst={"batch": BATCH},
            ),
            BARE: Side(
                stand=bare,
                url=bare.url(workspace_id),
                hello={"chars": chars},
                order={"chars": chars},
                burst={},
            ),
        }

    def _open(self, urls: list[str], hello: dict[str, Any]) -> list[float]:
        return self._clients.open(urls, key=self._key, hello=hello)

    def _delivered(
        self, side: Side, sockets: int, events: int, pause: float, *, since_call: bool = False
    ) -> list[float]:
        """How long each delivery took at a pace, after a few that do not count."""
        side.write(WARM_UP, pause)
        self._clients.gather(WARM_UP * sockets)
        written = side.write(events, pause)
        since = {seq: called if since_call else committed for seq, called, committed in written}
        arrivals = self._clients.gather(events * sockets)
        return [came - since[seq] for seq, times in arrivals.items() for came in times]

    def _kilobytes(self, side: Side, urls: list[str]) -> float:
        """How much a server grows by a socket, once it has had its first ones."""
        self._open(urls[:5], side.hello)
        self._clients.close()
        before = side.stand.sockets.memory_kb
        self._open(urls, side.hello)
        time.sleep(1)
        grown = side.stand.sockets.memory_kb - before
        self._clients.close()
        return grown / len(urls)

    def _edits(self, side: Side, idle: list[str]) -> dict[str, float]:
        """Edits a second in the process of the sockets, without them and with them by turns."""
        found: dict[str, list[float]] = {"no sockets": [], "ours": []}

        def edit(label: str) -> None:
            order = {"workspace_id": scenes.new_workspace("edits"), "seconds": self._size.seconds}
            found[label].append(asked(side.stand.sockets, "edit", **order)["per_second"])

        for _ in range(ROUNDS):
            edit("no sockets")
            self._open(idle, side.hello)
            edit("ours")
            self._clients.close()
        edit("no sockets")
        # The very first also warmed the process up, so it does not count.
        return {label: statistics.mean(rates[-ROUNDS:]) for label, rates in found.items()}
