"""The log's numbers: the insert of an event moves the head by one, and nothing else moves it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Model

from artifacts.models import Artifact, Cursor, Event, Workspace
from tests.database import rows

REFUSED_SEQ = r"^artifactr: seq in artifactr_event is not next"
REFUSED_HEAD = r"^artifactr: the head in artifactr_workspace moves only with an event"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return rows.workspace()


def test_an_insert_moves_the_head(workspace: Workspace) -> None:
    for seq in (1, 2, 3):
        event = rows.event(workspace, seq)
        workspace.refresh_from_db()
        assert (workspace.head_seq, bytes(workspace.head_chain)) == (seq, event.chain)
        assert workspace.last_event_at == event.at


def test_one_statement_inserts_many(workspace: Workspace) -> None:
    events = [rows.unsaved_event(workspace, seq) for seq in range(1, 51)]
    Event.objects.bulk_create(events)
    workspace.refresh_from_db()
    assert (workspace.head_seq, bytes(workspace.head_chain)) == (50, events[-1].chain)


def test_workspaces_count_apart(workspace: Workspace) -> None:
    other = rows.workspace()
    mixed = [(workspace, 1), (other, 1), (workspace, 2), (other, 2), (other, 3)]
    Event.objects.bulk_create([rows.unsaved_event(each, seq) for each, seq in mixed])
    assert {each.pk: each.head_seq for each in Workspace.objects.all()} == {
        workspace.pk: 2,
        other.pk: 3,
    }


@pytest.mark.parametrize("seqs", [[4], [2], [1], [0], [-1], [3, 5], [3, 3], [4, 3], [5, 3, 4]])
def test_any_other_seq_is_refused(workspace: Workspace, seqs: list[int]) -> None:
    rows.event(workspace, 1)
    rows.event(workspace, 2)
    with pytest.raises(IntegrityError) as refusal, transaction.atomic():
        Event.objects.bulk_create([rows.unsaved_event(workspace, seq) for seq in seqs])
    # A number that is taken meets the unique constraint first.
    assert "artifactr" in str(refusal.value)
    if not {1, 2} & set(seqs) and seqs != [3, 3]:
        assert refusal.match(REFUSED_SEQ)
    workspace.refresh_from_db()
    assert workspace.head_seq == 2
    assert Event.objects.count() == 2


def test_an_event_of_no_workspace_is_refused(workspace: Workspace) -> None:
    lost = rows.unsaved_event(workspace, 1)
    lost.workspace_id = workspace.pk + 1
    with pytest.raises(IntegrityError, match=REFUSED_SEQ), transaction.atomic():
        lost.save()


@pytest.mark.parametrize(
    "columns",
    [
        {"head_seq": 0},
        {"head_seq": 1},
        {"head_seq": 3},
        {"head_seq": 9},
        {"head_chain": b""},
        {"head_chain": (1).to_bytes(32, "big")},
        {"last_event_at": None},
        {"last_event_at": rows.NOON + timedelta(days=1)},
        {"head_seq": 1, "head_chain": (1).to_bytes(32, "big")},
        # Back to an event that is there.
        {
            "head_seq": 1,
            "head_chain": (1).to_bytes(32, "big"),
            "last_event_at": rows.NOON + timedelta(seconds=1),
        },
    ],
)
def test_nothing_else_moves_the_head(workspace: Workspace, columns: dict[str, Any]) -> None:
    rows.event(workspace, 1)
    rows.event(workspace, 2)
    with pytest.raises(IntegrityError, match=REFUSED_HEAD), transaction.atomic():
        Workspace.objects.update(**columns)
    workspace.refresh_from_db()
    assert workspace.head_seq == 2


def test_the_rest_of_a_workspace_is_free(workspace: Workspace) -> None:
    rows.event(workspace, 1)
    workspace.refresh_from_db()
    workspace.name = "Renamed"
    workspace.save()
    assert Workspace.objects.get().name == "Renamed"


def test_a_row_read_before_an_event_cannot_take_the_head_back(workspace: Workspace) -> None:
    stale = Workspace.objects.get()
    rows.event(workspace, 1)
    with pytest.raises(IntegrityError, match=REFUSED_HEAD), transaction.atomic():
        stale.save()


def _rising(model: type[Model], workspace: Workspace) -> tuple[Model, str]:
    if model is Artifact:
        return rows.artifact(workspace), "version"
    return Cursor.objects.create(workspace=workspace, name="mail", seq=3), "seq"


@pytest.mark.parametrize("model", [Artifact, Cursor])
def test_a_rising_field_never_falls(workspace: Workspace, model: type[Model]) -> None:
    row, field = _rising(model, workspace)
    found = model._default_manager.filter(pk=row.pk)
    assert found.update(**{field: 3}) == found.update(**{field: 7}) == 1
    refused = pytest.raises(IntegrityError, match=f"^artifactr: {field} of .* only rises")
    with refused, transaction.atomic():
        found.update(**{field: 6})
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {model._meta.db_table} SET {field} = 1")
    assert found.values_list(field, flat=True).get() == 7
