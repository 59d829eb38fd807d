"""What every test stands on: no real model, tables emptied past guards, Redis when asked for."""

from collections.abc import Iterator
from typing import Any

import pydantic_ai.models
import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

from artifacts import guards, pool
from tests.support import servers

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False

# Folders whose tests touch neither database: they run in the first pass only.
ONCE = {"core", "architecture", "hosts", "site"}
# Tables that migrations fill and no test changes.
KEPT = {"django_content_type", "auth_permission", "django_migrations"}


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


@pytest.fixture(autouse=True, scope="session")
def _empty_tables_between_tests() -> Iterator[None]:
    """Replace the flush after a test that commits: triggers keep rows from Django's own.

    It is also much quicker, as it keeps what every test finds there: permissions and types.
    """

    def teardown(self: Any) -> None:
        pool.close_pool()  # its threads keep their connections for a while
        for alias in self._databases_names(include_mirrors=False):
            _empty(connections[alias])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", teardown)
        yield


def _empty(connection: BaseDatabaseWrapper) -> None:
    tables = set(connection.introspection.django_table_names(only_existing=True)) - KEPT
    deletes = [f"DELETE FROM {connection.ops.quote_name(table)};" for table in sorted(tables)]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # As a replica, a session runs no trigger and checks no foreign key.
            cursor.execute("SET session_replication_role = replica")
            cursor.execute("".join(deletes))
            cursor.execute("SET session_replication_role = origin")
            return
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        triggers = [connection.ops.quote_name(name) for (name,) in cursor.fetchall()]
        drops = [f"DROP TRIGGER {trigger};" for trigger in triggers]
        # Search has tables that are no model's.
        cursor.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'")
        deletes += [f"DELETE FROM {name};" for (name,) in cursor.fetchall()]
        script = ["PRAGMA foreign_keys=OFF;", "BEGIN IMMEDIATE;", *drops, *deletes, "COMMIT;"]
        cursor.executescript("".join([*script, "PRAGMA foreign_keys=ON;"]))
    guards.install(connection)
