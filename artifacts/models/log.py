"""The log of a workspace and what coordinates its writers: leases, cursors, receipts."""

from __future__ import annotations

from django.db import models

from artifacts import triggers

from .tenancy import ID_LENGTH, Workspace


class Event(models.Model):
    """One envelope at its place in the log. `text` is the envelope's JSON as it goes on the wire;
    the columns beside it are what reads filter on.

    `digest` is over salt and text, `chain` over the previous chain, the seq and the digest.
    `mentions` are the artifacts and threads the event names, joined by `/`, which no id may hold.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="events", db_index=False
    )
    seq = models.BigIntegerField()
    public_id = models.CharField(max_length=ID_LENGTH)
    type = models.CharField(max_length=64)
    thread_id = models.CharField(max_length=ID_LENGTH, null=True)
    run_id = models.CharField(max_length=ID_LENGTH, null=True)
    actor_key = models.CharField(max_length=450)
    artifact_id = models.CharField(max_length=ID_LENGTH, null=True)
    mentions = models.TextField(default="")
    change_set_id = models.CharField(max_length=ID_LENGTH, null=True)
    at = models.DateTimeField()
    text = models.TextField()
    salt = models.BinaryField(max_length=16)
    digest = models.BinaryField(max_length=32)
    chain = models.BinaryField(max_length=32)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "seq"], name="artifactr_event_seq"),
            models.UniqueConstraint(fields=["workspace", "public_id"], name="artifactr_event_id"),
        ]
        indexes = [
            # Partial: an event without a thread or without an artifact writes one entry less.
            models.Index(
                fields=["workspace", "thread_id", "seq"],
                name="artifactr_event_thread",
                condition=models.Q(thread_id__isnull=False),
            ),
            models.Index(
                fields=["workspace", "artifact_id", "seq"],
                name="artifactr_event_artifact",
                condition=models.Q(artifact_id__isnull=False),
            ),
        ]
        triggers = [triggers.append_only(erasable=("text", "salt")), triggers.next_seq()]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class Lease(models.Model):
    """A time-limited claim. `token` fences every write of its holder and rises with each taking."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="leases", db_index=False
    )
    key = models.CharField(max_length=200)
    holder = models.CharField(max_length=200)
    token = models.BigIntegerField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key"], name="artifactr_lease_key")
        ]

    def __str__(self) -> str:
        return f"{self.key} held by {self.holder}"


class Cursor(models.Model):
    """How far a named consumer of the log has got; it only moves forward."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="cursors", db_index=False
    )
    name = models.CharField(max_length=200)
    seq = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="artifactr_cursor_name")
        ]
        triggers = [triggers.monotonic("seq")]

    def __str__(self) -> str:
        return f"{self.name} at {self.seq}"


class CommandReceipt(models.Model):
    """The first result of a command id, kept so that a repeat by its sender gets it again."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="receipts", db_index=False
    )
    participant = models.CharField(max_length=450)
    command_id = models.CharField(max_length=ID_LENGTH)
    body_sha256 = models.CharField(max_length=64)
    result = models.TextField()
    last_seq = models.BigIntegerField()
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "participant", "command_id"], name="artifactr_receipt_once"
            )
        ]

    def __str__(self) -> str:
        return self.command_id
