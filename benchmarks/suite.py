"""The measurements on the database that the settings name."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from benchmarks import floors, reads, records, scenes, turns, uses  # noqa: E402
from benchmarks.live import Live  # noqa: E402
from benchmarks.measure import Timing, report, timed, timed_together  # noqa: E402

WRITERS = 8


class Suite:
    def __init__(self, *, only: str, quick: bool) -> None:
        self.only, self.quick = only, quick
        self.seconds = 1.0 if quick else 5.0
        self.database = "sqlite" if floors.is_sqlite() else "postgresql"
        self.live = Live(self.database, quick=quick)

    def run(self) -> None:
        measurements: list[tuple[str, Callable[[str], None]]] = [
            ("plan edit, one writer", self.one_plan),
            ("document edit, one writer", self.one_document),
            ("propose and accept, one writer", self.decided),
            (f"plan edit, {WRITERS} writers in {WRITERS} workspaces", self.apart),
            (f"plan edit, {WRITERS} writers in one workspace", self.together),
            ("replay of 10,000 events", self.replay),
            ("tail of 50 in 100,000 events", self.tail),
            ("ingest of records by the hundred", self.ingest),
            ("bind, 3 blocks with 50 rows, one client", self.bind_one),
            ("bind, 8 clients on one entity", self.bind_together),
            ("feedback on a use", self.feedback),
            ("purge of 100,000 expired uses", self.purge),
            ("turn, each tool call", self.tool_call),
            ("turn, each text delta", self.text_delta),
            ("turns of 50 threads on two workers", self.turns),
            ("live, idle sockets", self.live.idle),
            ("live, commit to delivery", self.live.delivery),
            ("live, another process", self.live.another_process),
            ("live, replay of 10,000 events to one socket", self.live.replay),
        ]
        try:
            for name, measure in measurements:
                if self.only in name:
                    measure(name)
        finally:
            self.live.close()

    def one_plan(self, name: str) -> None:
        self._edits(name, scenes.plan_edits, _plan_texts())

    def one_document(self, name: str) -> None:
        self._edits(name, scenes.document_edits, _document_texts())

    def decided(self, name: str) -> None:
        texts = _plan_texts()
        floor = self._with_floor(
            texts, 1, lambda: timed(floors.propose_and_accept(1, texts), seconds=self.seconds)
        )
        ours = timed(scenes.decisions(0, scenes.new_workspace(name)), seconds=self.seconds)
        report(name, database=self.database, ours=ours, floors={"sequential": floor})

    def apart(self, name: str) -> None:
        ids = [scenes.new_workspace(f"{name} {n}") for n in range(WRITERS)]
        self._together(name, _apart, ids, _floor_apart)

    def together(self, name: str) -> None:
        self._together(name, scenes.plan_of_own, scenes.new_workspace(name), _floor_together)

    def tool_call(self, name: str) -> None:
        self._print(name, turns.per_call(self.seconds))

    def text_delta(self, name: str) -> None:
        self._print(name, turns.per_delta(self.seconds))

    def turns(self, name: str) -> None:
        workspace = scenes.opened(scenes.new_workspace(name))
        self._print(name, turns.turns_per_second(workspace))

    def _print(self, name: str, figures: dict[str, Any]) -> None:
        print(json.dumps({"measured": name, "database": self.database, **figures}), flush=True)

    def replay(self, name: str) -> None:
        reads.replay(name, self.database, events=1_000 if self.quick else 10_000)

    def tail(self, name: str) -> None:
        reads.tail(name, self.database, events=2_000 if self.quick else 100_000)

    def ingest(self, name: str) -> None:
        records.measure(name, self.database, seconds=self.seconds)

    def bind_one(self, name: str) -> None:
        uses.bind_one(name, self.database, seconds=self.seconds)

    def bind_together(self, name: str) -> None:
        uses.bind_together(name, self.database, seconds=self.seconds)

    def feedback(self, name: str) -> None:
        uses.feedback(name, self.database, seconds=self.seconds)

    def purge(self, name: str) -> None:
        count = 5_000 if self.quick else 100_000
        uses.purge(name, self.database, uses=count, seconds=self.seconds)

    def _edits(self, name: str, factory: Any, texts: tuple[str, str, str]) -> None:
        def measured() -> dict[str, Timing]:
            found = {"sequential": timed(floors.seven_round_trips(1, texts), seconds=self.seconds)}
            if not floors.is_sqlite():
                found["pipelined"] = timed(floors.two_round_trips(1, texts), seconds=self.seconds)
            return found

        found = self._with_floor(texts, 1, measured)
        ours = timed(factory(0, scenes.new_workspace(name)), seconds=self.seconds)
        report(name, database=self.database, ours=ours, floors=found)

    def _together(self, name: str, factory: Any, argument: Any, floor_factory: Any) -> None:
        texts = _plan_texts()

        def measured() -> Timing:
            return timed_together(floor_factory, texts, writers=WRITERS, seconds=self.seconds)

        floor = self._with_floor(texts, WRITERS, measured)
        ours = timed_together(factory, argument, writers=WRITERS, seconds=self.seconds)
        report(name, database=self.database, ours=ours, floors={"sequential": floor})

    def _with_floor(self, texts: tuple[str, str, str], workspaces: int, measure: Any) -> Any:
        floors.drop()
        floors.prepare(workspaces, texts[0])
        try:
            return measure()
        finally:
            floors.drop()


def _apart(n: int, workspace_ids: list[str]) -> Callable[[], object]:
    return scenes.plan_edits(n, workspace_ids[n])


def _floor_apart(n: int, texts: tuple[str, str, str]) -> Callable[[], object]:
    return floors.seven_round_trips(n + 1, texts)


def _floor_together(n: int, texts: tuple[str, str, str]) -> Callable[[], object]:
    return floors.seven_round_trips(1, texts, artifact=n + 1)


def _plan_texts() -> tuple[str, str, str]:
    patch = json.dumps({"op": "replace", "path": "/tasks/task_7/status", "value": "done"})
    return json.dumps(scenes.plan_data()), patch, patch * 3


def _document_texts() -> tuple[str, str, str]:
    patch = json.dumps({"old": "anchor-1\n", "new": "anchor-2\n"})
    return json.dumps({"text": scenes.document_text()}), patch, patch * 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.suite")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    Suite(only=options.only, quick=options.quick).run()
    connection.close()


if __name__ == "__main__":
    main()
