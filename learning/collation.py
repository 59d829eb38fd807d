"""A migration operation: text columns that sort by code point, on every server alike.

SQLite sorts so by itself; PostgreSQL by the rules of whichever language its database was made for.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def by_code_point(model: str, *fields: str) -> migrations.RunPython:
    """Sort these fields of `app.Model` by code point; not PostgreSQL: do nothing."""
    label, model_name = model.split(".")

    def collate(state_apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor != "postgresql":
            return
        meta = state_apps.get_model(label, model_name)._meta
        for name in fields:
            field = meta.get_field(name)
            editor.execute(
                f'ALTER TABLE "{meta.db_table}" ALTER COLUMN "{field.column}" '
                f'TYPE {field.db_type(editor.connection)} COLLATE "C"'
            )

    return migrations.RunPython(
        collate, migrations.RunPython.noop, hints={"model_name": model_name.lower()}
    )
