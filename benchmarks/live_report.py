"""The figures of live measurements, one JSON object a line."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.live_clients import Arrivals
from benchmarks.live_control import Written
from benchmarks.measure import summary


def rate(written: list[Written], arrivals: Arrivals) -> float:
    """Deliveries a second, from the first commit to the last arrival."""
    came = [at for times in arrivals.values() for at in times]
    return len(came) / (max(came) - min(at for _, _, at in written))


def tell_latency(name: str, database: str, took: dict[str, list[float]]) -> None:
    """One line; `times_floor` is our p50 over the floor's: 1 is as quick, less is better."""
    found = {label: summary(each, sum(each)) for label, each in took.items()}
    shown = {
        label: {"p50_ms": round(each.p50_ms, 3), "p99_ms": round(each.p99_ms, 3)}
        for label, each in found.items()
    }
    ours, p50 = shown.pop("ours"), found["ours"].p50_ms
    times = {label: round(p50 / found[label].p50_ms, 2) for label in shown}
    tell(name, database, ours=ours, floors=shown, times_floor=times)


def tell_rates(name: str, database: str, rates: dict[str, float]) -> None:
    """One line; `ratio` is ours over the floor: 1 is as fast, more is better."""
    shown = {label: {"per_second": round(rate, 1)} for label, rate in rates.items()}
    ours = shown.pop("ours")
    ratio = {label: round(rates["ours"] / rates[label], 3) for label in shown}
    tell(name, database, ours=ours, floors=shown, ratio=ratio)


def tell(name: str, database: str, **members: Any) -> None:
    print(json.dumps({"measured": name, "database": database, **members}), flush=True)


def sockets_named(count: int) -> str:
    return "1 socket" if count == 1 else f"{count} sockets"
