"""Expired uses are deleted a page at a time, and what they led to stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connections, transaction
from django.test import override_settings

from artifacts import clock, executor
from artifacts.core.errors import Rejection
from artifacts.workspace import Workspace
from feedback import tasks
from feedback.core.errors import ArtifactUseExpired, ArtifactUseNotFound
from feedback.models import ArtifactUse, UseSignal, UseTarget, UseTargetHead
from feedback.services import expiry
from feedback.services.expiry import purge_expired
from feedback.services.signals import Submitted
from feedback.services.uses import use
from feedback.store import uses as store
from learning.models import Record
from learning.services.records import record
from tests.feedback.uses import bound, furnish, promote, say
from tests.support.cast import Cast, make_cast
from tests.support.racing import PATIENCE, Background, all_of, together
from tests.support.verify import assert_whole

pytestmark = pytest.mark.django_db(transaction=True)
on_postgresql = pytest.mark.skipif(
    "postgresql" not in str(connections["default"].settings_dict["ENGINE"]),
    reason="SQLite locks no rows",
)


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    furnish(cast.ana)
    return cast


@pytest.fixture
def later() -> Iterator[None]:
    """After the window of everything that was bound before."""
    with clock.moved(timedelta(days=91)):
        yield


def batch(size: int) -> override_settings:
    return override_settings(ARTIFACTR={"USE_PURGE_BATCH": size, "EXECUTOR": "threads"})


def expired(workspace: Workspace, count: int) -> list[str]:
    with clock.moved(timedelta(days=-91)):
        return [bound(workspace).id for _ in range(count)]


def test_a_pass_deletes_one_page_and_says_whether_it_was_full(cast: Cast) -> None:
    expired(cast.ana, 5)
    stays = bound(cast.ana).id
    with batch(2):
        assert [purge_expired() for _ in range(3)] == [True, True, False]
    assert list(ArtifactUse.objects.values_list("public_id", flat=True)) == [stays]
    with batch(2):
        assert not purge_expired()


@pytest.mark.skipif(
    connections["default"].vendor != "sqlite", reason="PostgreSQL's writers share no lock"
)
def test_a_page_gives_the_one_lock_back_between_its_parts(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each pause another thread binds, which it could not do inside the purge's transaction."""
    expired(cast.ana, 5)
    left: list[int] = []

    def pause(seconds: float) -> None:
        assert seconds > 0
        left.append(ArtifactUse.objects.filter(expires_at__lte=clock.now()).count())
        Background(bound, cast.ben).result()

    monkeypatch.setattr(store, "SHARED_LOCK_ROWS", 2)
    monkeypatch.setattr(expiry.time, "sleep", pause)
    with batch(10):
        assert not purge_expired()
    assert left == [3, 1]
    assert ArtifactUse.objects.count() == 2


def test_a_full_page_asks_for_the_next_and_a_short_one_waits(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(executor, "enqueue", asked.append)
    expired(cast.ana, 3)
    with batch(2):
        tasks.purge_expired_uses()
        assert asked == [tasks.PURGE]
        tasks.purge_expired_uses()
        assert asked == [tasks.PURGE]


def test_the_task_is_periodic_and_drains_a_backlog_by_itself(cast: Cast) -> None:
    assert tasks.PURGE in {each["task"] for each in settings.CELERY_BEAT_SCHEDULE.values()}
    expired(cast.ana, 7)
    with batch(2):
        executor.enqueue(tasks.PURGE)
        until = time.monotonic() + PATIENCE
        while ArtifactUse.objects.exists():
            assert time.monotonic() < until, "the backlog was not drained"
            threading.Event().wait(0.02)
        assert executor.stop(PATIENCE)


def test_signals_and_snapshots_outlive_their_use(cast: Cast) -> None:
    with clock.moved(timedelta(days=-91)):
        found = bound(cast.ana, snapshot=True)
        with clock.moved(timedelta(days=1)):
            signal = say(cast.ana, found.id, comment="no").record_id
    before = record(cast.ana, signal)
    assert not purge_expired()
    with pytest.raises(ArtifactUseNotFound):
        use(cast.ana, found.id)
    assert record(cast.ana, signal) == before
    assert found.snapshot_id is not None
    assert record(cast.ana, found.snapshot_id).content["content"] == found.content
    assert not UseSignal.objects.exists()


def test_what_uses_share_goes_with_the_last_of_them(cast: Cast) -> None:
    expired(cast.ana, 2)
    last = bound(cast.ana).id
    purge_expired()
    assert (UseTarget.objects.count(), UseTargetHead.objects.count()) == (1, 3)
    with clock.moved(timedelta(days=91)):
        purge_expired()
    assert not ArtifactUse.objects.filter(public_id=last).exists()
    assert (UseTarget.objects.count(), UseTargetHead.objects.count()) == (0, 0)


def test_lowering_the_window_purges_on_the_next_pass(cast: Cast) -> None:
    bound(cast.ana)
    with clock.moved(timedelta(days=11)):
        bound(cast.ana)
        purge_expired()
        assert ArtifactUse.objects.count() == 2
        with override_settings(ARTIFACTR={"USE_RETENTION_DAYS": 10}):
            purge_expired()
    assert ArtifactUse.objects.count() == 1


def test_what_was_promised_to_end_ends_when_nothing_ends_any_more(cast: Cast, later: None) -> None:
    expired(cast.ana, 1)
    with override_settings(ARTIFACTR={"USE_RETENTION_DAYS": None}):
        kept = bound(cast.ana).id
        with clock.moved(timedelta(days=10_000)):
            purge_expired()
    assert list(ArtifactUse.objects.values_list("public_id", flat=True)) == [kept]


@on_postgresql
def test_what_somebody_holds_is_left_to_the_next_pass(cast: Cast) -> None:
    held, _ = expired(cast.ana, 2)
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            ArtifactUse.objects.select_for_update().get(public_id=held)
            is_held.set()
            assert may_end.wait(PATIENCE)

    holder = Background(hold)
    assert is_held.wait(PATIENCE)
    purge_expired()
    assert list(ArtifactUse.objects.values_list("public_id", flat=True)) == [held]
    may_end.set()
    holder.result()
    purge_expired()
    assert not ArtifactUse.objects.exists()


def test_purges_beside_each_other_delete_each_use_once(cast: Cast) -> None:
    expired(cast.ana, 20)
    with batch(5):
        together(4, lambda _: purge_expired())
        while purge_expired():
            pass
    assert not ArtifactUse.objects.exists()


def test_binds_beside_a_purge_never_lose_what_they_run_on(cast: Cast) -> None:
    """The last expired use of a target goes at the moment in which a new one is bound."""

    def purging() -> None:
        for _ in range(20):
            purge_expired()

    def binding() -> list[str]:
        return [bound(cast.ana).id for _ in range(20)]

    for round_number in range(3):
        promote(cast.ana, steps=f"Round {round_number}.")
        expired(cast.ana, 1)
        _, *ids = all_of([Background(purging), Background(binding), Background(binding)])
        for use_id in (id for each in ids for id in each):
            assert use(cast.ana, use_id).learning_target is not None
    assert UseTargetHead.objects.count() == 3 * UseTarget.objects.count()


def test_feedback_beside_a_purge_is_kept_whole_or_refused(cast: Cast) -> None:
    ids = [bound(cast.ana).id for _ in range(40)]
    before = Record.objects.count()

    def run(number: int) -> list[Any]:
        if number == 0:
            with clock.moved(timedelta(days=91)):
                while purge_expired():
                    pass
            return []
        told: list[Any] = []
        for id in ids[number - 1 :: 5]:
            try:
                told.append(say(cast.ana, id))
            except Rejection as refused:
                told.append(refused)
        return told

    answers = [each for told in together(6, run) for each in told]
    kept = [each for each in answers if isinstance(each, Submitted)]
    refused = [each for each in answers if not isinstance(each, Submitted)]
    assert {type(each) for each in refused} <= {ArtifactUseExpired, ArtifactUseNotFound}
    assert len(answers) == len(ids)
    assert Record.objects.count() == before + len(kept)
    assert UseSignal.objects.count() <= len(kept)
    assert_whole(cast.ana)
