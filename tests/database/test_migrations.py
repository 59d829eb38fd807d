"""Migrations build exactly what the models declare, triggers included, and go both ways."""

from collections.abc import Iterator
from pathlib import Path

import pgtrigger
import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import IntegrityError, connection, migrations, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from artifacts import guards
from artifacts.models import ChangeSet
from tests.database import rows
from tests.database.schema import OTHER, empty_database, snapshot

LABELS = sorted(each.label for each in apps.get_app_configs() if each.label.startswith("artifactr"))


@pytest.fixture
def other(
    tmp_path: Path, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[BaseDatabaseWrapper]:
    # Not through the mark `django_db`: that lets a test reach only what the settings name.
    with django_db_blocker.unblock(), empty_database(tmp_path) as found:
        yield found


def _migrate(*arguments: str, **options: object) -> None:
    call_command("migrate", *arguments, database=OTHER, verbosity=0, **options)


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", *LABELS, check_changes=True, dry_run=True)


def test_migrations_build_what_the_models_declare(other: BaseDatabaseWrapper) -> None:
    without_migrations = {each.label: None for each in apps.get_app_configs()}
    with override_settings(MIGRATION_MODULES=without_migrations):
        _migrate(run_syncdb=True)
    made, migrated = snapshot(other), snapshot(connection)
    assert {name.split()[0] for name in made} >= {"index", "trigger"}
    assert {name: made.get(name) for name in {*made, *migrated}} == {
        name: migrated.get(name) for name in {*made, *migrated}
    }


def test_migrating_twice_and_back_and_forth_ends_the_same(other: BaseDatabaseWrapper) -> None:
    _migrate()
    first = snapshot(other)
    assert first == snapshot(connection)
    _migrate()
    assert snapshot(other) == first
    _migrate("artifactr", "zero")
    assert not [name for name in snapshot(other) if name.endswith(("_append_only", "_next_seq"))]
    assert guards.disagreements(other) == []
    _migrate()
    assert snapshot(other) == first


def test_a_table_remake_keeps_every_trigger(other: BaseDatabaseWrapper) -> None:
    _migrate()
    before = {name: sql for name, sql in snapshot(other).items() if name.startswith("trigger ")}

    class Remade(migrations.Migration):
        operations = [
            migrations.AlterField(model, field, models.CharField(max_length=length, null=True))
            for model, field, length in [
                ("workspace", "name", 300),
                ("event", "thread_id", 64),
                ("changeset", "origin", 640),
                ("proposal", "status", 640),
            ]
        ]

    migration = Remade("remade", "artifactr")
    emit_pre_migrate_signal(0, interactive=False, db=OTHER, plan=[(migration, False)])
    with other.schema_editor() as editor:
        migration.apply(MigrationLoader(other).project_state(), editor)
    emit_post_migrate_signal(0, interactive=False, db=OTHER)
    after = {name: sql for name, sql in snapshot(other).items() if name.startswith("trigger ")}
    assert after == before
    assert guards.disagreements(other) == []


@pytest.mark.django_db(transaction=True)
def test_a_lost_trigger_is_told_and_put_back() -> None:
    change_set = rows.change_set(rows.workspace())
    lost = next(name for name in snapshot(connection) if "changeset_append_only" in name)
    kind, name = lost.split()
    assert kind == "trigger"
    with connection.cursor() as cursor:
        on = f" ON {change_set._meta.db_table}" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER {name}{on}")
    try:
        assert guards.disagreements(connection) == [name]
        assert [each.id for each in guards.check_databases(databases=["default"])] == [
            "artifactr.W010"
        ]
    finally:
        pgtrigger.install("artifactr.ChangeSet:append_only")
        guards.install(connection)
    assert guards.disagreements(connection) == []
    with pytest.raises(IntegrityError, match="append-only"):
        ChangeSet.objects.update(actor="")


@pytest.mark.django_db
def test_large_columns_are_compressed_with_lz4_where_that_is_there() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite does not compress")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
        )
        available = cursor.fetchone() == (True,)
        cursor.execute(
            "SELECT attrelid::regclass::text || '.' || attname FROM pg_attribute "
            "WHERE attcompression = 'l' AND attrelid::regclass::text LIKE 'artifactr_%'"
        )
        compressed = {name for (name,) in cursor.fetchall()}
    large = {
        "artifactr_event.text",
        "artifactr_revision.data",
        "artifactr_revision.patch",
        "artifactr_proposal.change",
        "artifactr_proposal.result",
        "artifactr_commandreceipt.result",
    }
    assert compressed & large == (large if available else set())
