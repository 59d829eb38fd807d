"""The row that opens erasure inside one transaction, and keeps that transaction from committing."""

from __future__ import annotations

from django.db import models


class ErasureGuard(models.Model):
    """While it stands, append-only rows may be emptied; it points at nothing, so it cannot stay.

    The reference is checked at COMMIT, and no row can ever have the id 0.
    """

    nothing = models.ForeignKey(
        "self", on_delete=models.DO_NOTHING, default=0, db_index=False, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(nothing=0, id__gt=0), name="artifactr_erasure_never_stays"
            )
        ]

    def __str__(self) -> str:
        return f"erasure {self.pk}"
