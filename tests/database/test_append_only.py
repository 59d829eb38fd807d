"""Append-only and final rows against everything that can reach a table below the write path."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pgtrigger
import pytest
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, ProtectedError

from artifacts import guards
from artifacts.models import Proposal, ProposalGroup, Workspace
from tests.database import rows

Row = models.Model
NOT_SQLITE = pytest.mark.skipif(connection.vendor == "sqlite", reason="a matter of PostgreSQL")
NOT_POSTGRES = pytest.mark.skipif(connection.vendor != "sqlite", reason="a matter of SQLite")

KEPT: dict[str, Callable[[Workspace], Row]] = {
    "event": lambda workspace: rows.event(workspace, 1),
    "revision": rows.revision,
    "change_set": rows.change_set,
    "proposal": partial(rows.proposal, status="accepted"),
    "group": partial(rows.group, status="rejected"),
}


def _table(row: Row) -> str:
    return connection.ops.quote_name(row._meta.db_table)


def _others(row: Row) -> models.QuerySet[Row]:
    return type(row)._default_manager.filter(pk=row.pk)


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _save(row: Row) -> None:
    row.save(force_update=True)


def _bulk_update(row: Row) -> None:
    type(row)._default_manager.bulk_update([row], ["public_id"])


def _truncate(row: Row) -> None:
    connection.check_constraints()  # PostgreSQL truncates no table that still waits for some
    # Without WHERE, SQLite's own short way of emptying a table.
    truncate = "DELETE FROM {}" if connection.vendor == "sqlite" else "TRUNCATE {} CASCADE"
    _execute(truncate.format(_table(row)))


def _upsert(row: Row) -> None:
    type(row)._default_manager.bulk_create(
        [row], update_conflicts=True, update_fields=["public_id"], unique_fields=["id"]
    )


ATTACKS: dict[str, Callable[[Any], object]] = {
    "save": _save,
    "delete": lambda row: row.delete(),
    "queryset update": lambda row: _others(row).update(public_id="other"),
    "queryset delete": lambda row: _others(row).delete(),
    "delete without collecting": lambda row: _others(row)._raw_delete("default"),
    "bulk update": _bulk_update,
    "upsert": _upsert,
    "raw update": lambda row: _execute(f"UPDATE {_table(row)} SET id = id + 100"),
    "raw update to the same": lambda row: _execute(f"UPDATE {_table(row)} SET id = id"),
    "raw delete": lambda row: _execute(f"DELETE FROM {_table(row)} WHERE id > 0"),
    "truncate": _truncate,
}


def _contents(model: type[Row]) -> list[dict[str, Any]]:
    return list(model._default_manager.order_by("pk").values())


@pytest.fixture
def workspace(db: None) -> Workspace:
    return rows.workspace()


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("kind", KEPT)
def test_a_kept_row_cannot_be_changed(workspace: Workspace, kind: str, attack: str) -> None:
    row = KEPT[kind](workspace)
    before = _contents(type(row))
    with (
        pytest.raises(IntegrityError, match=r"^artifactr: .* (append-only|final)"),
        transaction.atomic(),
    ):
        ATTACKS[attack](row)
    assert _contents(type(row)) == before


@NOT_POSTGRES
@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize("verb", ["INSERT OR REPLACE", "UPDATE OR REPLACE", "UPDATE OR IGNORE"])
def test_sqlites_own_replacements_are_refused(workspace: Workspace, kind: str, verb: str) -> None:
    row = KEPT[kind](workspace)
    before = _contents(type(row))
    sql = {
        "INSERT OR REPLACE": f"INSERT OR REPLACE INTO {_table(row)} SELECT * FROM {_table(row)}",
        "UPDATE OR REPLACE": f"UPDATE OR REPLACE {_table(row)} SET id = id + 1",
        "UPDATE OR IGNORE": f"UPDATE OR IGNORE {_table(row)} SET public_id = 'other'",
    }[verb]
    with pytest.raises(IntegrityError, match=r"^artifactr: "), transaction.atomic():
        _execute(sql)
    assert _contents(type(row)) == before


@NOT_SQLITE
@pytest.mark.parametrize("kind", KEPT)
def test_the_librarys_switch_does_not_switch_them_off(workspace: Workspace, kind: str) -> None:
    row = KEPT[kind](workspace)
    refused = pytest.raises(IntegrityError, match=r"^artifactr: ")
    with pgtrigger.ignore(), refused, transaction.atomic():
        _others(row).update(public_id="other")


def test_a_workspace_with_a_log_cannot_be_deleted(workspace: Workspace) -> None:
    rows.event(workspace, 1)
    with pytest.raises(ProtectedError):
        workspace.delete()
    Workspace.objects.filter(pk=workspace.pk)._raw_delete("default")
    with pytest.raises(IntegrityError):
        connection.check_constraints()
    transaction.set_rollback(True)


@pytest.mark.parametrize("make", [rows.proposal, rows.group])
def test_a_pending_row_is_free_until_it_is_settled(
    workspace: Workspace, make: Callable[..., Proposal | ProposalGroup]
) -> None:
    row = make(workspace, "pending")
    _others(row).update(proposed_by="someone")
    _others(row).update(status="accepted")
    with pytest.raises(IntegrityError, match="is final"), transaction.atomic():
        _others(row).update(status="pending")
    other = make(workspace, "pending")
    assert other.delete()[0] == 1


def test_every_table_that_is_kept_is_attacked_here() -> None:
    declared = {
        model._meta.db_table
        for model, guarantee in guards.guarantees()
        if guarantee.name in {"append_only", "final"} and model._meta.app_label == "artifactr"
    }
    attacked = {"event", "revision", "changeset", "proposal", "proposalgroup"}
    assert declared == {f"artifactr_{name}" for name in attacked}
    assert len(KEPT) == len(attacked)


@pytest.mark.parametrize("status", ["accepted", "rejected"])
def test_settled_rows_are_no_obstacle_to_updates_of_pending_ones(
    workspace: Workspace, status: str
) -> None:
    rows.proposal(workspace, status)
    rows.proposal(workspace, "pending")
    pending = Proposal.objects.filter(status="pending")
    assert pending.update(base_version=F("base_version") + 1) == 1
