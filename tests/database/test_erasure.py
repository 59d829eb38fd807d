"""The one way around append-only: open within a transaction, for nothing but emptying."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Model

from artifacts import guards, triggers
from artifacts.models import ErasureGuard, Event, Proposal, Revision, Workspace
from artifacts.store.erasure import erasure
from tests.database import rows

pytestmark = pytest.mark.django_db(transaction=True)
REFUSED = r"^artifactr: .* (append-only|final)"
ERASABLE: list[tuple[Callable[[Workspace], Model], dict[str, Any]]] = [
    (lambda workspace: rows.event(workspace, 1), {"text": "", "salt": b""}),
    (rows.revision, {"data": "{}", "patch": None, "salt": b""}),
    (
        lambda workspace: rows.proposal(workspace, "rejected"),
        {"change": "", "result": None, "rationale": "", "reason": ""},
    ),
]


def _values(row: Model) -> dict[str, Any]:
    found = type(row)._default_manager.filter(pk=row.pk).values().get()
    return {name: bytes(v) if isinstance(v, memoryview) else v for name, v in found.items()}


@pytest.mark.parametrize(("make", "empty"), ERASABLE)
def test_an_erasure_empties_what_it_may(
    make: Callable[[Workspace], Model], empty: dict[str, Any]
) -> None:
    row = make(rows.workspace())
    before = _values(row)
    with transaction.atomic(), erasure():
        type(row)._default_manager.filter(pk=row.pk).update(**empty)
    assert _values(row) == before | empty
    with pytest.raises(IntegrityError, match=REFUSED):
        type(row)._default_manager.filter(pk=row.pk).update(**empty)
    assert not ErasureGuard.objects.exists()


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (Event, {"text": "something else"}),
        (Event, {"salt": b"t" * 16}),
        (Event, {"text": "", "salt": b"", "seq": 7}),
        (Event, {"text": "", "digest": b""}),
        (Event, {"text": "", "actor_key": ""}),
        (Event, {"id": 1000}),
        (Event, {"chain": b""}),
        (Revision, {"data": '{"text":""}'}),
        (Revision, {"data": "", "version": 4}),
        (Revision, {"data": "", "digest": b"e" * 32}),
        (Proposal, {"change": "", "status": "pending"}),
        (Proposal, {"rationale": "better"}),
    ],
)
def test_an_erasure_changes_nothing_else(model: type[Model], columns: dict[str, Any]) -> None:
    workspace = rows.workspace()
    for make, _ in ERASABLE:
        make(workspace)
    before = list(model._default_manager.values())
    with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic(), erasure():
        model._default_manager.update(**columns)
    assert list(model._default_manager.values()) == before


@pytest.mark.parametrize("make", [make for make, _ in ERASABLE])
def test_an_erasure_deletes_nothing(make: Callable[[Workspace], Model]) -> None:
    row = make(rows.workspace())
    with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic(), erasure():
        row.delete()
    if connection.vendor == "postgresql":
        refused = pytest.raises(IntegrityError, match=REFUSED)
        with refused, transaction.atomic(), erasure(), connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {row._meta.db_table} CASCADE")
    assert type(row)._default_manager.count() == 1


def test_a_row_without_erasable_columns_stays_whole() -> None:
    change_set = rows.change_set(rows.workspace())
    with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic(), erasure():
        type(change_set).objects.update(actor="")


def test_an_erasure_left_open_is_refused_at_commit() -> None:
    event = rows.event(rows.workspace(), 1)

    @transaction.atomic
    def leave_open() -> None:
        ErasureGuard.objects.create()
        Event.objects.update(text="")

    with pytest.raises(IntegrityError, match=r"(?i)foreign key"):
        leave_open()
    assert _values(event)["text"] == event.text
    assert not ErasureGuard.objects.exists()


@pytest.mark.parametrize("columns", [{"id": 1, "nothing_id": 1}, {"id": 0}, {"id": -1}])
def test_a_guard_that_could_stay_cannot_be_made(columns: dict[str, int]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        ErasureGuard.objects.create(**columns)


def test_guards_cannot_hold_each_other() -> None:
    with transaction.atomic():
        first, second = ErasureGuard.objects.create(), ErasureGuard.objects.create()
        with pytest.raises(IntegrityError), transaction.atomic():
            ErasureGuard.objects.filter(pk=first.pk).update(nothing=second.pk)
        ErasureGuard.objects.all().delete()


def test_a_failed_erasure_closes_inside_a_transaction_that_goes_on() -> None:
    workspace = rows.workspace()
    rows.event(workspace, 1)

    def fail() -> None:
        with erasure():
            Event.objects.update(text="")
            raise ZeroDivisionError

    with transaction.atomic():
        with pytest.raises(ZeroDivisionError):
            fail()
        rows.event(workspace, 2)
    assert not Event.objects.filter(text="").exists()


def test_an_erasure_is_open_to_its_own_transaction_only() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    rows.event(rows.workspace(), 1)
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            Event.objects.update(text="")
        except IntegrityError as refusal:
            caught.append(refusal)
        finally:
            connection.close()

    with transaction.atomic(), erasure():
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
    assert [str(each)[:10] for each in caught] == ["artifactr:"]


def test_a_temporary_table_opens_nothing() -> None:
    event = rows.event(rows.workspace(), 1)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE {triggers.GUARD_TABLE} (id integer)")
        try:
            cursor.execute(f"INSERT INTO {triggers.GUARD_TABLE} VALUES (1)")
            with pytest.raises(IntegrityError, match=REFUSED):
                cursor.execute("UPDATE artifactr_event SET text = ''")
        finally:
            schema = "temp" if connection.vendor == "sqlite" else "pg_temp"
            cursor.execute(f"DROP TABLE {schema}.{triggers.GUARD_TABLE}")
    assert _values(event)["text"] == event.text


def test_the_rendered_sql_names_the_guards_table() -> None:
    assert ErasureGuard._meta.db_table == triggers.GUARD_TABLE
    assert guards.disagreements(connection) == []
