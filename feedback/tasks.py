"""Celery tasks of feedback: thin."""

from __future__ import annotations

from celery import shared_task

from artifacts import executor

from .services.expiry import purge_expired

PURGE = "feedback.purge_expired_uses"


@shared_task(name=PURGE, ignore_result=True)
def purge_expired_uses() -> None:
    """Delete one page of expired uses; a full one asks for the next at once."""
    if purge_expired():
        executor.enqueue(PURGE)
