"""Reads that share a round trip: each is asked with whoever takes its rows."""

from __future__ import annotations

from collections.abc import Callable

from artifacts.extensions import Statement, Transaction

from .rows import Rows

Take = Callable[[Rows], object]


class Questions:
    """What is to be known before anything is written."""

    def __init__(self) -> None:
        self._statements: list[Statement] = []
        self._takers: list[Take] = []

    def ask(self, statement: Statement, take: Take) -> None:
        """Give the rows of a statement to `take`, in the order in which all are asked."""
        self._statements.append(statement)
        self._takers.append(take)

    def answer(self, tx: Transaction) -> None:
        """Run all of them; the rows are taken once every statement has run."""
        for take, rows in zip(self._takers, tx.execute_all(self._statements), strict=True):
            take(rows)
