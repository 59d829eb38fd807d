"""One way to call all four clients: over HTTP and in process, with and without `await`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from artifacts import core
from artifacts.keys import create_key
from artifacts.models import Workspace as Row
from artifacts.workspace import Workspace, open_workspace
from feedback.bound import BoundArtifact
from feedback.client import AsyncClient, Client
from feedback.local import AsyncLocal, Local

ACTOR = core.SystemActor(name="key/tests")
WAYS = ("http", "http async", "in process", "in process async")


@dataclass
class Caller:
    """A client of any kind; what it would await is awaited on a loop of its own."""

    client: Any
    runner: asyncio.Runner

    def __call__(self, answer: Any) -> Any:
        return self.runner.run(_awaited(answer)) if inspect.isawaitable(answer) else answer

    def bind(self, name: str, parameters: Any = None, **options: Any) -> BoundArtifact:
        bound: BoundArtifact = self(self.client.artifact(name).bind(parameters, **options))
        return bound

    def within(
        self, name: str, parameters: Any, work: Callable[[BoundArtifact], None], **options: Any
    ) -> None:
        """Do work inside a use."""
        use = self.client.artifact(name).use(parameters, **options)
        if isinstance(use, AbstractAsyncContextManager):
            self.runner.run(_within(use, work))
        else:
            assert isinstance(use, AbstractContextManager)
            with use as bound:
                work(bound)


async def _awaited(answer: Any) -> Any:
    return await answer


async def _within(
    use: AbstractAsyncContextManager[BoundArtifact], work: Callable[[BoundArtifact], None]
) -> None:
    async with use as bound:
        work(bound)


@contextmanager
def calling(
    way: str, row: Row, url: str, *, role: str = "editor", key: str | None = None
) -> Iterator[Caller]:
    """A client of one workspace."""
    with asyncio.Runner() as runner:
        if way == "http":
            with Client(**_place(row, url, role, key)) as client:
                yield Caller(client, runner)
        elif way == "http async":
            opened = AsyncClient(**_place(row, url, role, key))
            try:
                yield Caller(opened, runner)
            finally:
                runner.run(opened.aclose())
        else:
            door = as_program(row)
            yield Caller(AsyncLocal(door) if "async" in way else Local(door), runner)


def as_program(row: Row) -> Workspace:
    """The workspace in the hands of whom the tests' keys act as."""
    return open_workspace(row.public_id, actor=ACTOR)


def _place(row: Row, url: str, role: str, key: str | None) -> dict[str, Any]:
    if key is None:
        _, key = create_key(tenant=row.tenant, workspace=row, name="tests", role=role, actor=ACTOR)
    return {
        "base_url": f"{url}/api/v1/",
        "workspace": row.public_id,
        "key": key,
        "timeout": 60.0,
    }
