"""Records: evidence that never changes, numbered without a gap in its workspace.

`Record` and `RecordLink` are kept for good. The other tables are read from them: what queries
filter and search by, and which record is in force at an address.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from artifacts import triggers
from artifacts.models import ID_LENGTH, Revision, Workspace

from .catalog import NAME_LENGTH

# Both databases index as much.
FIELD_LENGTH = 250
DEDUPE_LENGTH = 512


class RecordHead(models.Model):
    """The last number given out in a workspace; locked after the workspace, before the rows."""

    workspace = models.OneToOneField(
        Workspace, on_delete=models.PROTECT, related_name="record_head", primary_key=True
    )
    seq = models.BigIntegerField()

    class Meta:
        triggers = [triggers.monotonic("seq")]

    def __str__(self) -> str:
        return str(self.seq)


class Record(models.Model):
    """One observation, or one version of a maintained value, whose text stays in its `revision`.

    `content` and `actor` are JSON text. `collection_version` is that of the definition it was
    checked against, null where the collection was not declared. `artifact_id` is the address's
    artifact. `digest` is over salt, text and content, wherever these stand.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="records", db_index=False
    )
    seq = models.BigIntegerField()
    public_id = models.CharField(max_length=ID_LENGTH)
    collection = models.CharField(max_length=ID_LENGTH)
    collection_version = models.PositiveIntegerField(null=True)
    entity = models.CharField(max_length=500)
    key = models.CharField(max_length=500, null=True)
    type = models.CharField(max_length=ID_LENGTH, null=True)
    artifact_id = models.CharField(max_length=ID_LENGTH, null=True)
    revision = models.OneToOneField(
        Revision, on_delete=models.PROTECT, null=True, related_name="record"
    )
    text = models.TextField(default="")
    content = models.TextField(default="{}")
    actor = models.TextField()
    at = models.DateTimeField()
    salt = models.BinaryField(max_length=16)
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "seq"], name="artifactr_learning_record_seq"
            ),
            models.UniqueConstraint(
                fields=["workspace", "public_id"], name="artifactr_learning_record_id"
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "collection", "entity", "seq"],
                name="artifactr_learning_record_of",
            ),
            models.Index(
                fields=["workspace", "collection", "seq"], name="artifactr_learning_record_in"
            ),
        ]
        triggers = [triggers.append_only(erasable=("text", "content", "salt"))]

    def __str__(self) -> str:
        return self.public_id


class LearningSignals(models.Manager["LearningSignal"]):
    def get_queryset(self) -> models.QuerySet[LearningSignal]:
        return super().get_queryset().filter(collection=LearningSignal.COLLECTION)


class LearningSignal(Record):
    """A record of `learning_signals`: what came of a use."""

    COLLECTION = "learning_signals"

    objects: ClassVar[models.Manager[LearningSignal]] = LearningSignals()

    class Meta:
        proxy = True


class RecordLink(models.Model):
    """What a record was derived from: another record, or a revision of an artifact."""

    record = models.ForeignKey(Record, on_delete=models.PROTECT, related_name="sources")
    position = models.PositiveSmallIntegerField()
    source = models.ForeignKey(
        Record, on_delete=models.PROTECT, null=True, related_name="derivatives"
    )
    revision = models.ForeignKey(
        Revision, on_delete=models.PROTECT, null=True, related_name="derivatives"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["record", "position"], name="artifactr_learning_link_once"
            ),
            models.CheckConstraint(
                condition=models.Q(source__isnull=True, revision__isnull=False)
                | models.Q(source__isnull=False, revision__isnull=True),
                name="artifactr_learning_link_to_one",
            ),
        ]
        triggers = [triggers.append_only()]

    def __str__(self) -> str:
        return f"{self.record} from {self.source or self.revision}"


class ProposalSource(models.Model):
    """What a proposed value was derived from; its record says so once somebody accepts it."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    proposal_id = models.CharField(max_length=ID_LENGTH)
    position = models.PositiveSmallIntegerField()
    source = models.ForeignKey(Record, on_delete=models.PROTECT, null=True, related_name="+")
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "proposal_id", "position"],
                name="artifactr_learning_cited_once",
            ),
            models.CheckConstraint(
                condition=models.Q(source__isnull=True, revision__isnull=False)
                | models.Q(source__isnull=False, revision__isnull=True),
                name="artifactr_learning_cites_one",
            ),
        ]
        triggers = [triggers.append_only()]

    def __str__(self) -> str:
        return f"{self.proposal_id} from {self.source or self.revision}"


class CurrentRecord(models.Model):
    """The record in force at an address: the newest one, unless its artifact is archived."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="current_records", db_index=False
    )
    address_id = models.CharField(max_length=ID_LENGTH)
    collection = models.CharField(max_length=ID_LENGTH)
    entity = models.CharField(max_length=500)
    record = models.OneToOneField(Record, on_delete=models.PROTECT, related_name="current")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "address_id"], name="artifactr_learning_current_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["workspace", "collection", "entity"],
                name="artifactr_learning_current_of",
            )
        ]

    def __str__(self) -> str:
        return f"{self.collection}/{self.entity}: {self.record}"


class RecordText(models.Model):
    """What search reads, in small letters: the text of an event, or of the value in force at an
    address."""

    record = models.OneToOneField(
        Record, on_delete=models.PROTECT, related_name="searched", primary_key=True
    )
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    text = models.TextField()

    def __str__(self) -> str:
        return self.text[:50]


class RecordField(models.Model):
    """The value of a field that its collection declares for filter or sort."""

    record = models.ForeignKey(Record, on_delete=models.PROTECT, related_name="fields")
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    collection = models.CharField(max_length=NAME_LENGTH)
    name = models.CharField(max_length=NAME_LENGTH)
    text = models.CharField(max_length=FIELD_LENGTH, null=True)
    number = models.FloatField(null=True)
    seq = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["record", "name"], name="artifactr_learning_field_once")
        ]
        indexes = [
            models.Index(
                fields=["workspace", "collection", "name", "text", "seq"],
                name="artifactr_learning_field_text",
                condition=models.Q(text__isnull=False),
            ),
            models.Index(
                fields=["workspace", "collection", "name", "number", "seq"],
                name="artifactr_learning_field_num",
                condition=models.Q(number__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class DedupeKey(models.Model):
    """What a dedupe key first stood for: the hash of its payload, and what came of it."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="dedupe_keys", db_index=False
    )
    key = models.CharField(max_length=DEDUPE_LENGTH)
    payload_sha256 = models.CharField(max_length=64)
    record_id = models.CharField(max_length=ID_LENGTH, null=True)
    proposal_id = models.CharField(max_length=ID_LENGTH, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "key"], name="artifactr_learning_dedupe_once"
            )
        ]
        triggers = [triggers.append_only()]

    def __str__(self) -> str:
        return self.key
