"""The statements that a call asks of its database, through Django's cursors and past them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db import connection
from django.test.utils import CaptureQueriesContext

from artifacts.workspace import database


@contextmanager
def asked() -> Iterator[list[str]]:
    """Those of the block, each on one line: Django's own first; complete when the block ends."""
    kind = type(database())
    run = kind._run
    told: list[str] = []
    direct: list[str] = []

    def recording(self: Any, statements: Any) -> Any:
        direct.extend(sql for sql, _ in statements)
        return run(self, statements)

    with CaptureQueriesContext(connection) as captured, mock.patch.object(kind, "_run", recording):
        yield told
    told += [" ".join(sql.split()) for sql in (*(q["sql"] for q in captured), *direct)]
