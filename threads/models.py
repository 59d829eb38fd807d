"""The rows of conversations: threads, their runs, used message ids, and the model's history.

Messages are events of the log and have no row. Rows are written by `threads.store` alone.
"""

from __future__ import annotations

from django.db import models

from artifacts import triggers
from artifacts.models import ID_LENGTH, Workspace


class Thread(models.Model):
    """A chat. `focus` is a JSON list of artifact ids; `agent` names one of the host's agents.

    `asked_seq` is the last message that wants an answer, `taken_seq` the last one that a finished
    turn took: a thread waits for a turn while the first is ahead of the second.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="threads", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    title = models.CharField(max_length=200)
    mode = models.CharField(max_length=16, default="edit")
    focus = models.TextField(default="[]")
    agent = models.CharField(max_length=ID_LENGTH, null=True)
    asked_seq = models.BigIntegerField(default=0)
    taken_seq = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "public_id"], name="artifactr_threads_thread_id"
            )
        ]
        indexes = [
            # What the sweeper looks for: almost always empty.
            models.Index(
                fields=["workspace", "id"],
                name="artifactr_threads_asked",
                condition=models.Q(asked_seq__gt=models.F("taken_seq")),
            )
        ]

    def __str__(self) -> str:
        return self.title


class Run(models.Model):
    """One agent answer. States: running, paused; completed, stopped, failed (for good).

    `pending`, `answers` and `trace_ids` are JSON lists. `reason` is the code of how it ended,
    `retry_of` the run it takes again; `stop_requested_at` is when somebody first asked it to stop.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        PAUSED = "paused"
        COMPLETED = "completed"
        STOPPED = "stopped"
        FAILED = "failed"

    # Of a run that has not ended.
    ACTIVE = (Status.RUNNING, Status.PAUSED)

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    thread = models.ForeignKey(Thread, on_delete=models.PROTECT, related_name="runs")
    public_id = models.CharField(max_length=ID_LENGTH)
    status = models.CharField(max_length=16, choices=Status.choices)
    pending = models.TextField(default="[]")
    answers = models.TextField(default="[]")
    trace_ids = models.TextField(default="[]")
    retry_of = models.CharField(max_length=ID_LENGTH, null=True)
    reason = models.CharField(max_length=64, null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    stop_requested_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "public_id"], name="artifactr_threads_run_id"
            ),
            # The last line of defence behind the lease: two turns of a thread never overlap.
            models.UniqueConstraint(
                fields=["thread"],
                name="artifactr_threads_one_run",
                condition=models.Q(status__in=["running", "paused"]),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class MessageId(models.Model):
    """A message id that was used, so that it is refused for good without reading the log.

    `thread_id` is the public id of the thread it was used in.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="message_ids", db_index=False
    )
    public_id = models.CharField(max_length=ID_LENGTH)
    thread_id = models.CharField(max_length=ID_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "public_id"], name="artifactr_threads_message_id"
            )
        ]
        triggers = [triggers.append_only()]

    def __str__(self) -> str:
        return self.public_id


class HistorySegment(models.Model):
    """A piece of what the model was told and said, as bytes that only the agent layer reads.

    States: usable, or not, with the reason. `seen_seq` is the place in the log up to which this
    history has told the agent what changed.
    """

    thread = models.ForeignKey(
        Thread, on_delete=models.PROTECT, related_name="segments", db_index=False
    )
    number = models.PositiveIntegerField()
    run_id = models.CharField(max_length=ID_LENGTH)
    data = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    seen_seq = models.BigIntegerField()
    usable = models.BooleanField(default=True)
    reason = models.CharField(max_length=64, null=True)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["thread", "number"], name="artifactr_threads_segment_once"
            )
        ]
        triggers = [triggers.append_only(erasable=("data",))]

    def __str__(self) -> str:
        return f"segment {self.number} of thread {self.thread_id}"
