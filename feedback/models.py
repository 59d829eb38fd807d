"""Uses: which render an application was given, by identity and hashes, until feedback is too late.

A use holds neither the rendered text nor the parameters. Rows are written by `feedback.store`
alone; a purge deletes them, and what they led to stays. What they name in `learning` they name by
its public ids, so that typed feedback also works where that app is not installed.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from artifacts.models import ID_LENGTH, Event, Workspace

SHA256_LENGTH = 64
NAME_LENGTH = 64
SENDER_LENGTH = 450


class GivenFeedbacks(models.Manager["GivenFeedback"]):
    def get_queryset(self) -> models.QuerySet[GivenFeedback]:
        return super().get_queryset().filter(type=GivenFeedback.TYPE)


class GivenFeedback(Event):
    """An event of the log that tells of typed feedback."""

    TYPE = "feedback_given"

    objects: ClassVar[models.Manager[GivenFeedback]] = GivenFeedbacks()

    class Meta:
        proxy = True
        verbose_name = verbose_name_plural = "typed feedback"


class UseTarget(models.Model):
    """What feedback on a use should improve; uses of the same values share it.

    `text` is its JSON, as clients read it.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    sha256 = models.CharField(max_length=SHA256_LENGTH)
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "sha256"], name="artifactr_feedback_target_once"
            )
        ]

    def __str__(self) -> str:
        return self.sha256


class UseTargetHead(models.Model):
    """One record that was in force in a target, to find uses by."""

    target = models.ForeignKey(UseTarget, on_delete=models.PROTECT, related_name="heads")
    record_id = models.CharField(max_length=ID_LENGTH)

    class Meta:
        indexes = [models.Index(fields=["record_id"], name="artifactr_feedback_head")]

    def __str__(self) -> str:
        return self.record_id


class ArtifactUse(models.Model):
    """A handle on one render. States: open; expired, when it takes no more feedback and waits to be
    purged.

    `sender` and `idempotency_key` say who bound it under which key, `request_sha256` what was asked
    for then. `expires_at` is what was promised at bind; the setting in force may end it sooner.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="artifact_uses", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    recipe_name = models.CharField(max_length=NAME_LENGTH)
    recipe_version = models.PositiveIntegerField()
    definition_hash = models.CharField(max_length=SHA256_LENGTH)
    render_sha256 = models.CharField(max_length=SHA256_LENGTH)
    truncated = models.BooleanField()
    target = models.ForeignKey(
        UseTarget, on_delete=models.PROTECT, null=True, related_name="uses", db_index=False
    )
    snapshot_id = models.CharField(max_length=ID_LENGTH, null=True)
    sender = models.CharField(max_length=SENDER_LENGTH)
    idempotency_key = models.CharField(max_length=ID_LENGTH, null=True)
    request_sha256 = models.CharField(max_length=SHA256_LENGTH, null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "public_id"], name="artifactr_feedback_use_id"
            ),
            models.UniqueConstraint(
                fields=["workspace", "sender", "idempotency_key"],
                name="artifactr_feedback_use_key",
                condition=models.Q(idempotency_key__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "recipe_name", "id"], name="artifactr_feedback_use_of"
            ),
            models.Index(
                fields=["target", "id"],
                name="artifactr_feedback_use_on",
                condition=models.Q(target__isnull=False),
            ),
            models.Index(fields=["created_at"], name="artifactr_feedback_use_age"),
            models.Index(
                fields=["expires_at"],
                name="artifactr_feedback_use_end",
                condition=models.Q(expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class UseSignal(models.Model):
    """A learning signal that was given on a use, to list them by; the record outlives it."""

    use = models.ForeignKey(ArtifactUse, on_delete=models.PROTECT, related_name="signals")
    record_id = models.CharField(max_length=ID_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["record_id"], name="artifactr_feedback_signal_once")
        ]

    def __str__(self) -> str:
        return f"{self.record_id} on {self.use}"


class UseMessage(models.Model):
    """A message that a run said on the text of a use, to find that use by."""

    use = models.ForeignKey(ArtifactUse, on_delete=models.PROTECT, related_name="messages")
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    message_id = models.CharField(max_length=ID_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "message_id"], name="artifactr_feedback_message_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.message_id} on {self.use}"
