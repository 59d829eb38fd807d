"""Rows by the hundred: one statement for many, within what every SQLite takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from django.db import connection, models
from pydantic_core import to_json

from artifacts.extensions import Statement, Transaction

# Older SQLite takes 999 parameters in one statement.
MOST_PARAMETERS = 999
# How many ids one statement names, beside which it has few other parameters.
IN_ONE = 500

Rows = Sequence[Sequence[Any]]


def insert(
    tx: Transaction, model: type[models.Model], columns: Sequence[str], rows: Rows, end: str = ""
) -> None:
    """Insert rows; `end` is what stands after them, such as ON CONFLICT."""
    tx.execute_all(inserting(model, columns, rows, end))


def inserting(
    model: type[models.Model], columns: Sequence[str], rows: Rows, end: str = ""
) -> list[Statement]:
    """The statements that insert rows, none for no rows."""
    if not rows:
        return []
    start = f"INSERT INTO {model._meta.db_table} ({', '.join(columns)})"
    if connection.vendor == "postgresql":
        # One parameter, read by the server: the quickest way there is for many values at once.
        shapes, values = _recordset(model, tuple(columns))
        # Without WHERE, ON CONFLICT would be read as a part of the FROM before it.
        sql = f"{start} SELECT {values} FROM json_to_recordset(%s) AS r({shapes}) WHERE true {end}"
        return [(sql, [_json(columns, rows)])]
    return inserting_values(start, len(columns), rows, end)


def inserting_values(start: str, width: int, rows: Rows, end: str = "") -> list[Statement]:
    """The same as lists of values, of so many columns."""
    row = f"({', '.join(['%s'] * width)})"
    return [
        (
            f"{start} VALUES {', '.join([row] * len(part))} {end}",
            [value for each in part for value in each],
        )
        for part in parts(rows, max(1, MOST_PARAMETERS // width))
    ]


def _json(columns: Sequence[str], rows: Rows) -> str:
    objects = [
        {name: value.hex() if isinstance(value, bytes) else value
         for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]  # fmt: skip
    return to_json(objects).decode()


@cache
def _recordset(model: type[models.Model], columns: tuple[str, ...]) -> tuple[str, str]:
    """The columns of a set of JSON objects, and what becomes of each."""
    fields = {field.column: field for field in model._meta.concrete_fields}
    shapes, values = [], []
    for name in columns:
        type_ = fields[name].db_type(connection) or "text"
        if type_ == "bytea":
            shapes.append(f"{name} text")
            values.append(f"decode({name}, 'hex')")
        else:
            # A cast to varchar(n) would cut what is too long; the assignment refuses it.
            shapes.append(f"{name} {'text' if type_.startswith('varchar') else type_}")
            values.append(name)
    return ", ".join(shapes), ", ".join(values)


def among(ids: Sequence[Any]) -> str:
    """The placeholders of an IN; never empty."""
    return f"({', '.join(['%s'] * len(ids)) or 'NULL'})"


def parts(rows: Sequence[Any], size: int = IN_ONE) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def moment(tx: Transaction, at: datetime) -> Any:
    """A moment as a parameter of the driver."""
    return tx.connection.ops.adapt_datetimefield_value(at)
