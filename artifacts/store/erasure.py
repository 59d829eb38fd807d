"""The one way around append-only: it is closed again before COMMIT, or nothing commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from ..models import ErasureGuard


@contextmanager
def erasure(*, using: str | None = None) -> Iterator[None]:
    """Let this transaction empty the erasable columns of append-only rows until the block ends."""
    with transaction.atomic(using=using):
        guard = ErasureGuard.objects.using(using).create()
        yield
        guard.delete()
