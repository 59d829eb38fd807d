"""Artifacts, their revisions, and the changes that wait for a decision.

An artifact's data stands in its revisions alone: the row names the version in force.
"""

from __future__ import annotations

from django.db import models

from artifacts import triggers

from .tenancy import ID_LENGTH, Workspace


class Artifact(models.Model):
    """A stored value of a kind; `version` is the revision in force, `updated_by` its actor's JSON.

    States: live, archived (read-only until it is reverted or put again). The four address columns
    are null unless it is a maintained value.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="artifacts", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    kind = models.CharField(max_length=ID_LENGTH)
    version = models.PositiveIntegerField()
    archived = models.BooleanField(default=False)
    updated_by = models.TextField()
    collection = models.CharField(max_length=ID_LENGTH, null=True)
    entity = models.CharField(max_length=500, null=True)
    key = models.CharField(max_length=500, null=True)
    type = models.CharField(max_length=ID_LENGTH, null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "public_id"], name="artifactr_artifact_id")
        ]
        indexes = [
            models.Index(fields=["workspace", "kind", "id"], name="artifactr_artifact_kind"),
            models.Index(
                fields=["workspace", "collection", "entity"],
                name="artifactr_artifact_address",
                condition=models.Q(collection__isnull=False),
            ),
        ]
        triggers = [triggers.monotonic("version")]

    def __str__(self) -> str:
        return self.public_id


class Revision(models.Model):
    """One version of an artifact, for good. `data`, `patch` and `actor` are JSON text."""

    artifact = models.ForeignKey(
        Artifact, on_delete=models.PROTECT, related_name="revisions", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    version = models.PositiveIntegerField()
    kind = models.CharField(max_length=ID_LENGTH)
    data = models.TextField()
    patch = models.TextField(null=True)
    actor = models.TextField()
    actor_key = models.CharField(max_length=450)
    proposal_id = models.CharField(max_length=ID_LENGTH, null=True)
    archived = models.BooleanField(default=False)
    edited = models.BooleanField(default=False)
    trace_id = models.CharField(max_length=32, null=True)
    change_set_id = models.CharField(max_length=ID_LENGTH)
    at = models.DateTimeField()
    salt = models.BinaryField(max_length=16)
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["artifact", "version"], name="artifactr_revision_once"),
            models.UniqueConstraint(fields=["public_id"], name="artifactr_revision_id"),
        ]
        indexes = [models.Index(fields=["change_set_id"], name="artifactr_revision_set")]
        triggers = [triggers.append_only(erasable=("data", "patch", "salt"))]

    def __str__(self) -> str:
        return f"{self.public_id} (version {self.version})"


class ChangeSet(models.Model):
    """The revisions written by one atomic commit, and where they came from."""

    class Origin(models.TextChoices):
        COMMAND = "command"
        BATCH = "batch"
        PROMOTION = "promotion"
        ROLLBACK = "rollback"

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="change_sets", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    origin = models.CharField(max_length=16, choices=Origin.choices)
    actor = models.TextField()
    last_seq = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "public_id"], name="artifactr_change_set_id"
            )
        ]
        triggers = [triggers.append_only()]

    def __str__(self) -> str:
        return self.public_id


class ProposalGroup(models.Model):
    """Proposals that are decided together. States: pending, accepted, rejected (final)."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="proposal_groups", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    status = models.CharField(max_length=16, default="pending")
    proposed_by = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "public_id"], name="artifactr_group_id")
        ]
        triggers = [triggers.final("status", while_="pending")]

    def __str__(self) -> str:
        return self.public_id


class Proposal(models.Model):
    """A suggested change. States: pending; accepted or rejected (final).

    `change`, `result`, `proposed_by` and `resolved_by` are JSON text; `result` is the data the
    change gave when it was made, null for an archive.
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="proposals", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    artifact_id = models.CharField(max_length=ID_LENGTH)
    kind = models.CharField(max_length=ID_LENGTH)
    change = models.TextField()
    base_version = models.PositiveIntegerField()
    result = models.TextField(null=True)
    rationale = models.TextField(null=True)
    proposed_by = models.TextField()
    proposer_key = models.CharField(max_length=450)
    thread_id = models.CharField(max_length=ID_LENGTH, null=True)
    run_id = models.CharField(max_length=ID_LENGTH, null=True)
    group_id = models.CharField(max_length=ID_LENGTH, null=True)
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.TextField(null=True)
    reason = models.TextField(null=True)
    resolved_version = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "public_id"], name="artifactr_proposal_id")
        ]
        indexes = [
            models.Index(fields=["workspace", "status", "id"], name="artifactr_proposal_status"),
            models.Index(
                fields=["workspace", "artifact_id", "id"], name="artifactr_proposal_about"
            ),
            models.Index(
                fields=["workspace", "group_id"],
                name="artifactr_proposal_group",
                condition=models.Q(group_id__isnull=False),
            ),
            models.Index(
                fields=["workspace", "proposer_key"],
                name="artifactr_proposal_open",
                condition=models.Q(status="pending"),
            ),
        ]
        triggers = [
            triggers.final(
                "status", while_="pending", erasable=("change", "result", "rationale", "reason")
            )
        ]

    def __str__(self) -> str:
        return self.public_id
