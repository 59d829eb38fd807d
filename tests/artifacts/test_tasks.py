"""The periodic tasks of the foundation."""

from datetime import timedelta

import pytest

from artifacts import clock, core, models, tasks
from tests.support.cast import make_cast

pytestmark = pytest.mark.django_db


def test_receipts_are_forgotten_after_their_days() -> None:
    ana = make_cast().ana
    with clock.moved(timedelta(days=-8)):
        ana.commit(core.CreateThread(title="Old"), command_id="old")
    with clock.moved(timedelta(days=-6)):
        ana.commit(core.CreateThread(title="New"), command_id="new")
    tasks.purge_receipts()
    kept = models.CommandReceipt.objects.values_list("command_id", flat=True)
    assert list(kept) == ["new"]
