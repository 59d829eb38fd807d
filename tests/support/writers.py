"""Writers in processes of their own, for tests of what must hold across processes.

Each has the apps of the foundation only, so it is up in a moment, and works on the test's database.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def in_processes(count: int, call: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run `call` once for each tuple of arguments, spread over so many processes."""
    from django.conf import settings
    from django.db import connection

    database = dict(settings.DATABASES["default"], NAME=connection.settings_dict["NAME"])
    database.pop("TEST", None)
    with ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_set_up,
        initargs=(database,),
    ) as executor:
        return [future.result() for future in [executor.submit(call, *each) for each in arguments]]


def _set_up(database: dict[str, Any]) -> None:
    import django
    from django.conf import settings

    settings.configure(
        DATABASES={"default": database},
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "pgtrigger",
            "artifacts",
        ],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        SECRET_KEY="only-for-tests",
        USE_TZ=True,
    )
    django.setup()


def append_with_accidents(workspace_ids: Sequence[str], appends: int, seed: int) -> list[str]:
    """Append events to random workspaces, and give the names of those that were told it is done.

    A tenth rolls back, some sleep in the transaction; connections may be killed at any moment.
    """
    from django.db import close_old_connections, connections

    from artifacts.core import AppEvent, SystemActor, Unavailable
    from artifacts.extensions import Transaction
    from artifacts.workspace import open_workspace

    chance = random.Random(seed)

    def accident(tx: Transaction) -> None:
        if chance.random() < 0.2:
            time.sleep(chance.random() * 0.01)
        if chance.random() < 0.1:
            raise LookupError

    committed: list[str] = []
    for number in range(appends):
        workspace_id, name = chance.choice(workspace_ids), f"{seed}-{number}"
        try:
            workspace = open_workspace(workspace_id, actor=SystemActor())
            workspace.record(AppEvent(name=name), also=[accident])
        except LookupError:
            continue
        except Exception as error:
            if not isinstance(error, Unavailable) and "terminat" not in str(error):
                raise
            close_old_connections()
            connections["default"].close()
        else:
            committed.append(name)
    connections.close_all()
    return committed


def append_naively(appends: int, seed: int) -> int:
    """The control on PostgreSQL: numbers from a plain sequence, given before the commit."""
    from django.db import connection, transaction

    chance = random.Random(seed)
    for _ in range(appends):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("INSERT INTO naive_log DEFAULT VALUES")
            time.sleep(chance.random() * 0.01)
    connection.close()
    return appends
