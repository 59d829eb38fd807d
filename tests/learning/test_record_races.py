"""Many writers of records at once: no number is lost or given twice, whatever road they take."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import IntegrityError

from artifacts import core
from artifacts.core import ArtifactrError
from artifacts.workspace import open_workspace
from learning.core.errors import DedupeConflict
from learning.models import DedupeKey, Record, RecordHead
from learning.selectors.heads import heads
from learning.services.records import Ingested, ingest
from learning.store import records as store
from tests.support.cast import ANA, Cast
from tests.support.racing import PATIENCE, together
from tests.support.verify import assert_whole

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS = 6


def note(text: str, **members: Any) -> dict[str, Any]:
    return {"collection": "notes", "entity": "e", "type": "note", "text": text, **members}


def keyed(number: int, text: str) -> dict[str, Any]:
    return {"collection": "skills", "entity": "agent:ada", "key": f"k{number % 2}", "text": text}


def test_numbers_have_no_gap_and_no_repeat(cast: Cast) -> None:
    def write(number: int) -> object:
        door = open_workspace(cast.ana.id, actor=ANA)
        for turn in range(5):
            ingest(door, [note(f"{number}/{turn}"), keyed(number, f"{number}/{turn}")])
            with pytest.raises(ArtifactrError):
                ingest(door, [note("lost"), note("lost", key="not here")])
        return None

    results = together(WRITERS, write)
    assert results == [None] * WRITERS
    seqs = list(Record.objects.order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, WRITERS * 10 + 1))
    assert RecordHead.objects.get().seq == len(seqs)
    assert not Record.objects.filter(text="lost").exists()
    current = {each.key: each.record_id for each in heads(cast.ana.pk, "agent:ada", ["skills"])}
    for key, record_id in current.items():
        last = Record.objects.filter(key=key).order_by("-seq")[0]
        assert last.public_id == record_id
    assert_whole(cast.ana)


def test_a_reader_by_number_never_skips(cast: Cast) -> None:
    """Whoever reads "after the last number I saw" gets everything: numbers commit in order."""
    done = threading.Event()
    seen: list[int] = []

    def read() -> None:
        while True:
            last = done.is_set()
            rows = Record.objects.filter(seq__gt=seen[-1] if seen else 0).order_by("seq")
            seen.extend(rows.values_list("seq", flat=True))
            if last:
                return

    def work(number: int) -> object:
        if number == 0:
            read()
            return None
        door = open_workspace(cast.ana.id, actor=ANA)
        for turn in range(8):
            ingest(door, [note(f"{number}/{turn}")] * 3)
        with lock:
            waiting.discard(number)
            if not waiting:
                done.set()
        return None

    lock, waiting = threading.Lock(), set(range(1, WRITERS))
    assert together(WRITERS, work) == [None] * WRITERS
    assert done.wait(PATIENCE)
    assert seen == list(range(1, (WRITERS - 1) * 24 + 1))


def test_control_without_the_head_numbers_collide(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the highest number there is, read without a lock, is given out twice."""
    ready = threading.Barrier(2)

    def naive(number: int) -> int:
        top = Record.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
        ready.wait(PATIENCE)
        return top + 1

    assert together(2, naive) == [1, 1]
    ingest(cast.ana, [note("x")])
    monkeypatch.setattr(store, "HEAD", "SELECT 0 WHERE %s > 0")
    with pytest.raises(IntegrityError):
        ingest(cast.ana, [note("y")])


def test_parallel_repeats_are_one_record(cast: Cast) -> None:
    def send(number: int) -> object:
        door = open_workspace(cast.ana.id, actor=ANA)
        return ingest(door, [note("same", dedupe_key="k")])[0]

    results = together(WRITERS, send)
    assert all(isinstance(each, Ingested) for each in results)
    assert len({each.record_id for each in results}) == 1
    assert sorted(each.duplicate for each in results) == [False] + [True] * (WRITERS - 1)
    assert Record.objects.count() == DedupeKey.objects.count() == 1


def test_parallel_conflicts_leave_one_record(cast: Cast) -> None:
    def send(number: int) -> object:
        door = open_workspace(cast.ana.id, actor=ANA)
        return ingest(door, [note(str(number), dedupe_key="k")])

    results = together(WRITERS, send)
    assert len([each for each in results if isinstance(each, DedupeConflict)]) == WRITERS - 1
    assert Record.objects.count() == 1


def test_heads_are_never_seen_by_half(cast: Cast) -> None:
    """Promotions beside reads: what one read gives was in force together."""
    keys = ("steps", "pitfalls", "examples")
    done = threading.Event()
    mixed: list[set[str | None]] = []

    def put(key: str, version: int) -> core.PutArtifact:
        return core.PutArtifact(  # type: ignore[call-arg]
            address=core.Address(collection="skills", entity="agent:ada", key=key),
            kind="maintained_value", data={"text": f"v{version}", "content": {}},
            base_version=version,
        )  # fmt: skip

    def promote() -> None:
        door = open_workspace(cast.ana.id, actor=ANA)
        for version in range(1, 15):
            door.commit_all([put(key, version) for key in keys], origin="promotion")
        done.set()

    def read() -> None:
        while not done.is_set():
            runs = {each.run_id for each in heads(cast.ana.pk, "agent:ada", ["skills"])}
            if len(runs) != 1:
                mixed.append(runs)

    cast.ana.commit_all([put(key, 0) for key in keys])
    assert together(2, lambda number: promote() if number else read()) == [None, None]
    assert mixed == []
