"""Timing: run a piece of work for a while, in one process or in many, and say how it went."""

from __future__ import annotations

import json
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Work = Callable[[], object]
# Makes the work of writer `n` inside its own process.
Factory = Callable[[int, Any], Work]


@dataclass(frozen=True, slots=True)
class Timing:
    """How many times a second, and how long one takes, in milliseconds."""

    per_second: float
    p50_ms: float
    p99_ms: float

    def shown(self) -> dict[str, float]:
        return {
            "per_second": round(self.per_second, 1),
            "p50_ms": round(self.p50_ms, 3),
            "p99_ms": round(self.p99_ms, 3),
        }


def timed(work: Work, *, seconds: float, warm_up: int = 20) -> Timing:
    """Repeat `work` in this process for `seconds`."""
    for _ in range(warm_up):
        work()
    took: list[float] = []
    started = time.perf_counter()
    while (now := time.perf_counter()) - started < seconds:
        work()
        took.append(time.perf_counter() - now)
    return summary(took, time.perf_counter() - started)


def summary(took: Sequence[float], elapsed: float, *, each: int = 1) -> Timing:
    """The figures of a row of durations in seconds; `each` is how many things one of them did."""
    ordered = sorted(took)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return Timing(len(ordered) * each / elapsed, statistics.median(ordered) * 1000, p99 * 1000)


def timed_together(factory: Factory, argument: Any, *, writers: int, seconds: float) -> Timing:
    """Repeat the work of several processes at once; the figures are of all of them together."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(writers), context.Queue()
    processes = [
        context.Process(target=_writer, args=(factory, n, argument, seconds, barrier, results))
        for n in range(writers)
    ]
    for process in processes:
        process.start()
    gathered = [results.get(timeout=seconds + 120) for _ in processes]
    for process in processes:
        process.join()
    took = [duration for durations, _ in gathered for duration in durations]
    return summary(took, max(elapsed for _, elapsed in gathered))


def _writer(
    factory: Factory, n: int, argument: Any, seconds: float, barrier: Any, results: Any
) -> None:
    import django

    django.setup()
    work = factory(n, argument)
    for _ in range(5):
        work()
    barrier.wait()
    took: list[float] = []
    started = time.perf_counter()
    while (now := time.perf_counter()) - started < seconds:
        work()
        took.append(time.perf_counter() - now)
    results.put((took, time.perf_counter() - started))


def report(name: str, *, database: str, ours: Timing, floors: dict[str, Timing]) -> None:
    """Print one line; a ratio above 1 means faster than that floor."""
    line = {
        "measured": name,
        "database": database,
        "ours": ours.shown(),
        "floors": {floor: timing.shown() for floor, timing in floors.items()},
        "ratio": {
            floor: round(ours.per_second / timing.per_second, 3) for floor, timing in floors.items()
        },
    }
    print(json.dumps(line), flush=True)
