"""What the database itself keeps of the learning half, attacked below the write path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction

from artifacts import guards
from artifacts.store.erasure import erasure
from artifacts.workspace import Workspace
from learning.models import (
    DedupeKey,
    Definition,
    ProposalSource,
    Record,
    RecordHead,
    RecordLink,
)
from learning.services.records import ingest
from tests.learning.catalogs import apply
from tests.support.builders import make_thread
from tests.support.cast import make_cast

pytestmark = pytest.mark.django_db
KEPT: list[type[models.Model]] = [Record, RecordLink, ProposalSource, Definition, DedupeKey]
# A column of each that an attack would like to change.
COLUMN = {
    Record: "text",
    RecordLink: "position",
    ProposalSource: "position",
    Definition: "body",
    DedupeKey: "payload_sha256",
}
REFUSED = r"^artifactr: .* append-only"


@pytest.fixture
def workspace() -> Workspace:
    cast = make_cast()
    workspace = cast.ana
    apply(workspace)
    note = {"collection": "notes", "entity": "e", "type": "note", "text": "of Ada"}
    [first] = ingest(workspace, [{**note, "content": {"about": "Ada"}, "dedupe_key": "k"}])
    ingest(workspace, [{**note, "derived_from": [first.record_id]}])
    step = {"collection": "skills", "entity": "agent:ada", "key": "steps", "text": "Ask first."}
    agent = cast.scribe(make_thread(workspace))
    [proposed] = ingest(agent, [{**step, "derived_from": [first.record_id]}])
    assert proposed.proposal_id is not None
    return workspace


def table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def rows(model: type[models.Model]) -> list[Any]:
    return list(model._default_manager.order_by("pk").values())


def truncate(model: Any) -> None:
    connection.check_constraints()
    sql = "DELETE FROM {}" if connection.vendor == "sqlite" else "TRUNCATE {} CASCADE"
    execute(sql.format(table(model)))


ATTACKS: dict[str, Callable[[Any], object]] = {
    "update": lambda model: model.objects.update(**{COLUMN[model]: 9}),
    "save": lambda model: model.objects.first().save(force_update=True),
    "raw update": lambda model: execute(f"UPDATE {table(model)} SET {COLUMN[model]} = '9'"),
    "raw update to the same": lambda model: execute(f"UPDATE {table(model)} SET id = id"),
    "delete without collecting": lambda model: model.objects.all()._raw_delete("default"),
    "raw delete": lambda model: execute(f"DELETE FROM {table(model)} WHERE id > 0"),
    "truncate": truncate,
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("model", KEPT, ids=lambda model: model.__name__)
def test_a_kept_row_cannot_be_changed(
    workspace: Workspace, model: type[models.Model], attack: str
) -> None:
    before = rows(model)
    assert before
    with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic():
        ATTACKS[attack](model)
    assert rows(model) == before


def test_every_table_that_is_kept_is_attacked_here() -> None:
    declared = {
        model
        for model, guarantee in guards.guarantees()
        if guarantee.name == "append_only" and model._meta.app_label == "artifactr_learning"
    }
    assert declared == set(KEPT)


def test_a_head_only_rises(workspace: Workspace) -> None:
    with pytest.raises(IntegrityError, match="only rises"), transaction.atomic():
        RecordHead.objects.update(seq=0)


def test_an_erasure_empties_what_a_record_says_and_nothing_else(workspace: Workspace) -> None:
    record = Record.objects.order_by("seq")[0]
    with erasure():
        Record.objects.filter(pk=record.pk).update(text="", content="{}", salt=b"")
        for changed in ({"entity": ""}, {"digest": b""}, {"text": "other"}):
            with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic():
                Record.objects.filter(pk=record.pk).update(**changed)
        for model in (RecordLink, ProposalSource, Definition, DedupeKey):
            with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic():
                model._default_manager.update(**{COLUMN[model]: "0"})
    after = Record.objects.get(pk=record.pk)
    assert (after.text, after.content, after.digest) == ("", "{}", record.digest)


def test_a_repeat_of_an_erased_record_says_so(workspace: Workspace) -> None:
    with erasure():
        Record.objects.filter(seq=1).update(text="", content="{}", salt=b"")
    note = {"collection": "notes", "entity": "e", "type": "note", "text": "of Ada"}
    [again] = ingest(workspace, [{**note, "content": {"about": "Ada"}, "dedupe_key": "k"}])
    assert (again.duplicate, again.erased) == (True, True)
    assert again.record_id == Record.objects.get(seq=1).public_id
