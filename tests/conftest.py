"""What every test stands on: no real model, a flush past the guards, Redis when asked for."""

from collections.abc import Iterator
from typing import Any

import pydantic_ai.models
import pytest
from django.db import connections
from django.test import TransactionTestCase

from tests.support import servers

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False

# Folders whose tests touch neither database: they run in the first pass only.
ONCE = {"core", "architecture", "hosts"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--second-pass",
        action="store_true",
        help="leave out the tests marked `once`; the first pass has run them",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    root = config.rootpath / "tests"
    for item in items:
        if ONCE.intersection(item.path.relative_to(root).parts):
            item.add_marker(pytest.mark.once)
    if config.getoption("--second-pass"):
        again = [item for item in items if not item.get_closest_marker("once")]
        config.hook.pytest_deselected(items=[item for item in items if item not in again])
        items[:] = again


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A real Redis: the run's own, or one for this process when pytest was started by hand."""
    with servers.redis() as url:
        yield url


def _disarm(alias: str) -> None:
    connection = connections[alias]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
            return
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {connection.ops.quote_name(name)}")


def _rearm(alias: str) -> None:
    # On SQLite the flush has sent post_migrate, and that installs the triggers again.
    connection = connections[alias]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = origin")


@pytest.fixture(autouse=True, scope="session")
def _flush_past_the_guards() -> Iterator[None]:
    """Let Django's flush between tests delete what triggers keep from everybody else."""
    plain = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]

    def teardown(self: Any) -> None:
        aliases = list(self._databases_names(include_mirrors=False))
        for alias in aliases:
            _disarm(alias)
        try:
            plain(self)
        finally:
            for alias in aliases:
                _rearm(alias)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", teardown)
        yield
