"""A workspace with people and keys, and servers that a whole run shares."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection, connections
from django.test import Client as Browser

from artifacts import core, pool
from artifacts.keys import create_key
from artifacts.models import ApiKey, Membership, Tenant
from artifacts.models import Workspace as Row
from artifacts.workspace import Workspace, open_workspace
from tests.support import kinds, live

REGISTERED = kinds


@dataclass(frozen=True)
class Place:
    """A workspace, as the system sees it, and ways in."""

    workspace: Workspace
    row: Row

    @property
    def id(self) -> str:
        return self.workspace.id

    def key(self, role: str = "admin", *, name: str = "program") -> str:
        return self.named_key(role, name=name)[1]

    def named_key(self, role: str = "admin", *, name: str = "program") -> tuple[ApiKey, str]:
        actor = core.ExternalAgentActor(client_id=name)
        if role in ("reviewer", "admin"):
            return create_key(
                tenant=self.row.tenant, workspace=self.row, name=name, role=role,
                actor=core.SystemActor(name=name),
            )  # fmt: skip
        return create_key(
            tenant=self.row.tenant, workspace=self.row, name=name, role=role, actor=actor
        )

    def person(self, name: str, role: str | None = "editor") -> tuple[Any, Browser]:
        """A user with a membership, signed in; the session is the browser's cookie."""
        user = get_user_model().objects.create_user(name)
        if role is not None:
            Membership.objects.create(workspace=self.row, user=user, role=role)
        browser = Browser()
        browser.force_login(user)
        return user, browser

    def say(self, *texts: str) -> int:
        """Write app events; the head afterwards."""
        for text in texts:
            self.workspace.record(core.AppEvent(name="said", data={"text": text}))
        return self.workspace.head_seq()

    def open_thread(self, title: str = "A chat", actor: core.UserActor | None = None) -> str:
        command = core.CreateThread(title=title)
        self.workspace.as_actor(actor or core.UserActor(id="1", name="Ana")).commit(command)
        return command.thread_id

    def start_run(self, thread_id: str, *, person: core.UserActor | None = None) -> str:
        run_id = core.new_id("run")
        agent = core.AgentActor(thread_id=thread_id, run_id=run_id, on_behalf_of=person)
        self.workspace.as_actor(agent).record(core.RunStarted(run_id=run_id, thread_id=thread_id))
        return run_id

    def end_run(self, thread_id: str, run_id: str) -> None:
        agent = core.AgentActor(thread_id=thread_id, run_id=run_id)
        self.workspace.as_actor(agent).record(
            core.RunEnded(run_id=run_id, thread_id=thread_id, status="completed")
        )


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Do something on a thread of its own while the block runs, and wait for it."""

    def done() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=done)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def session_of(browser: Browser) -> str:
    return browser.cookies[settings.SESSION_COOKIE_NAME].value


@pytest.fixture
def place(transactional_db: None) -> Iterator[Place]:
    yield new_place("Ours")
    pool.close_pool()


def new_place(name: str) -> Place:
    row = Row.objects.create(tenant=Tenant.objects.create(name=name), name=name)
    return Place(open_workspace(row.public_id, actor=core.SystemActor(name="tests")), row)


@pytest.fixture(scope="session")
def started(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., live.Server]]:
    """A server with these settings, started by the first test that asks for it."""
    folder: Path = tmp_path_factory.mktemp("servers")
    running: dict[str, live.Server] = {}
    with ExitStack() as stack:

        def get(**options: Any) -> live.Server:
            # It would go on to take the turns of every later test on this database.
            assert "EXECUTOR" not in options, "who takes turns ends with its test: live.serving"
            name = repr(sorted(options.items()))
            if name not in running or running[name].process.poll() is not None:
                running[name] = stack.enter_context(live.serving(folder, **options))
            return running[name]

        yield get
        for each in running.values():  # together: each takes a moment to end
            each.process.terminate()


# What every shared server has: short times, so that tests need not wait.
QUICK: dict[str, Any] = {"ACCESS_CHECK_SECONDS": 0.3}


@pytest.fixture
def server(place: Place, started: Callable[..., live.Server]) -> live.Server:
    """One server, with the layer of this pass."""
    return started(**QUICK)


@pytest.fixture
def strict_server(place: Place, started: Callable[..., live.Server]) -> live.Server:
    """A server whose host has hooks and small limits."""
    return started(
        **QUICK,
        AUTHORIZE="tests.e2e.hooks.authorize",
        HIDDEN="tests.e2e.hooks.hidden",
        HELLO_SECONDS=3.0,
        SOCKETS_PER_USER=2,
        LIMITS={"body_bytes": 5_000, "artifact_bytes": 5_000},
    )


with_redis = pytest.mark.skipif(
    not os.environ.get("DATABASE_URL"), reason="Redis goes with PostgreSQL: the second pass"
)


def is_postgresql() -> bool:
    return connection.vendor == "postgresql"
