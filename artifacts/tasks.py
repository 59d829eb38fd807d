"""Celery tasks of the foundation: thin, ids in, the door out."""

from __future__ import annotations

from celery import shared_task

from . import conf
from .workspace import purge_receipts as purge_page


@shared_task(name="artifacts.purge_receipts", ignore_result=True)
def purge_receipts() -> None:
    """Forget command receipts that are older than the host keeps them."""
    while purge_page(conf.settings().RECEIPT_DAYS):
        pass
