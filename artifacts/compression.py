"""A migration operation: large text columns compressed with lz4, where the server can.

It reads and writes several times faster than PostgreSQL's own method, at about the same size.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def lz4(model: str, *fields: str) -> migrations.RunPython:
    """Compress what these fields of `app.Model` store from now on; not PostgreSQL: do nothing."""
    label, model_name = model.split(".")

    def compress(state_apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor != "postgresql" or not _has_lz4(editor):
            return
        meta = state_apps.get_model(label, model_name)._meta
        for name in fields:
            column, table = meta.get_field(name).column, meta.db_table
            editor.execute(f'ALTER TABLE "{table}" ALTER COLUMN "{column}" SET COMPRESSION lz4')

    return migrations.RunPython(
        compress, migrations.RunPython.noop, hints={"model_name": model_name.lower()}
    )


def _has_lz4(editor: BaseDatabaseSchemaEditor) -> bool:
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
        )
        return cursor.fetchone() == (True,)
