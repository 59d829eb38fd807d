"""The rows of conversations: threads, their runs, message ids, history and used approvals.

Messages are events of the log and have no row. Rows are written by `threads.store` alone.
"""

from __future__ import annotations

from django.db import models

from artifacts import triggers
from artifacts.models import ID_LENGTH, Workspace


class Thread(models.Model):
    """A chat. `focus` is a JSON list of artifact ids; `agent` names one of the host's agents.

    `asked_seq` is the last place in the log that wants a turn: a message, or the last answer that a
    paused run waited for. All messages up to `taken_seq` are taken, and of those after it the ones
    in `taken_ahead`, a JSON list: a thread waits while `asked_seq` is ahead. After a process died
    in a turn the next attempt waits until `not_before`; `tries` counts such attempts.
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
    taken_ahead = models.TextField(default="[]")
    tries = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(null=True)
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
    Messages after `from_seq` steer the run; older ones that it does not start with wait their turn.
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
    from_seq = models.BigIntegerField(default=0)
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
    history has told the agent what changed; `told` a JSON list of the seqs of messages in it.
    """

    thread = models.ForeignKey(
        Thread, on_delete=models.PROTECT, related_name="segments", db_index=False
    )
    number = models.PositiveIntegerField()
    run_id = models.CharField(max_length=ID_LENGTH)
    data = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    seen_seq = models.BigIntegerField()
    told = models.TextField(default="[]")
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


class ToolApproval(models.Model):
    """An approved tool call that was let through to its tool: written before the tool runs, so that
    no second attempt runs it. `run_id` and `paused_seq` name the pause that asked for the approval,
    as a provider may use an id of a call again.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="tool_approvals", db_index=False
    )
    run_id = models.CharField(max_length=ID_LENGTH)
    paused_seq = models.BigIntegerField()
    tool_call_id = models.CharField(max_length=ID_LENGTH)
    used_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "run_id", "paused_seq", "tool_call_id"],
                name="artifactr_threads_approval_once",
            )
        ]
        triggers = [triggers.append_only()]

    def __str__(self) -> str:
        return f"{self.tool_call_id} of {self.run_id}"
