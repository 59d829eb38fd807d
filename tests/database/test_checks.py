"""A host whose database would not keep the guarantees is told so, with what to do."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import Tags, run_checks
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from artifacts import guards
from artifacts.models import ErasureGuard
from artifacts.sqlite import sqlite_options
from tests.database.schema import OTHER, alias


def _ids(database: str) -> list[str | None]:
    found = run_checks(tags=[Tags.database], databases=[database])
    assert all(each.hint for each in found)
    return [each.id for each in found if (each.id or "").startswith("artifactr.")]


@pytest.mark.django_db
def test_the_tests_own_database_holds_them() -> None:
    assert _ids("default") == []


@pytest.mark.django_db
def test_an_open_erasure_is_told() -> None:
    with transaction.atomic():
        guard = ErasureGuard.objects.create()
        assert guards.disagreements(connection) == [ErasureGuard._meta.db_table]
        guard.delete()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ["artifactr.W011", "artifactr.W012", "artifactr.W013"]),
        ({"transaction_mode": "immediate"}, ["artifactr.W012", "artifactr.W013"]),
        (
            {"init_command": "PRAGMA recursive_triggers=ON;"},
            ["artifactr.W011", "artifactr.W013"],
        ),
        (sqlite_options(), []),
        (sqlite_options(timeout=5), []),
    ],
)
def test_sqlite_without_its_options_is_told(
    tmp_path: Path,
    django_db_blocker: DjangoDbBlocker,
    options: dict[str, object],
    told: list[str],
) -> None:
    plain = {"NAME": str(tmp_path / "plain.sqlite3"), "OPTIONS": options}
    with django_db_blocker.unblock(), alias(ENGINE="django.db.backends.sqlite3", **plain):
        assert _ids(OTHER) == told


@pytest.mark.once
def test_a_host_that_forgot_pgtrigger_reads_its_name() -> None:
    script = (
        "import django; from django.conf import settings;"
        "settings.configure(INSTALLED_APPS=["
        "'django.contrib.auth', 'django.contrib.contenttypes', 'artifacts']); django.setup()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert done.stderr.strip().endswith("add 'pgtrigger' to INSTALLED_APPS")
