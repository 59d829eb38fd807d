"""What the hub does again and again belongs to no trace, whoever's connection began it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import override_settings

from artifacts import telemetry
from tests.support.spans import recorded
from threads.services.live import RunKey
from threads.surfaces import feeds, follower
from threads.surfaces import hub as module
from threads.surfaces.hub import Hub

pytestmark = pytest.mark.once

SECONDS = 60


class Connection:
    admission: Any = SimpleNamespace(owner=("user", "1"))

    def keep(self, admission: Any) -> None: ...

    def end(self, code: int) -> None: ...


def test_checks_reads_and_feeds_are_untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    traces: dict[str, telemetry.Trace] = {}

    async def in_pool(call: Any, *arguments: Any) -> Any:
        """Note in which trace the database would be asked, and ask nothing."""
        traces[call.__name__] = telemetry.current()
        await asyncio.sleep(0)
        return {"_standing": (0, {}), "_heads": [(1, 0)]}.get(call.__name__, [])

    class Store:
        async def read(self, *arguments: Any, **options: Any) -> list[Any]:
            traces["feed"] = telemetry.current()
            await asyncio.sleep(0.01)
            return []

        async def aclose(self) -> None: ...

    def asked_again(admissions: Any) -> None: ...

    for each in (module, follower):
        monkeypatch.setattr(each, "in_pool", in_pool)
    for each in (module, feeds):
        monkeypatch.setattr(each, "store", Store)
    monkeypatch.setattr(module, "asked_again", asked_again)
    monkeypatch.setattr(follower, "on_append", lambda pk, wake: lambda: None)
    wanted = {"asked_again", "_standing", "_heads", "events", "feed"}

    async def go() -> None:
        hub = Hub()
        with telemetry.span("request", {}):
            async with hub.connected(Connection()), hub.following(1) as followed:
                followed.push([], 1)  # with the context of whoever committed
                hub.feed(RunKey(1, "run_1"))
                async with asyncio.timeout(SECONDS):
                    while set(traces) < wanted:  # noqa: ASYNC110 - it tells nobody else
                        await asyncio.sleep(0.01)
                traces["the request itself"] = telemetry.current()

    options = {"ACCESS_CHECK_SECONDS": 0.01, "FOLLOW_POLL_SECONDS": 0.01}
    with recorded(), override_settings(ARTIFACTR=options):
        asyncio.run(go())
    assert traces.pop("the request itself") != telemetry.UNTRACED, "the control"
    assert traces == dict.fromkeys(wanted, telemetry.UNTRACED)
