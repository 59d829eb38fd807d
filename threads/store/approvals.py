"""The single-use record of an approved tool call."""

from __future__ import annotations

from artifacts.extensions import Transaction
from threads import models


def use_approval(tx: Transaction, run_id: str, *, paused_seq: int, tool_call_id: str) -> bool:
    """Whether this is the first use. The workspace is locked, so nobody else looks meanwhile."""
    key = {
        "workspace_id": tx.workspace_pk,
        "run_id": run_id,
        "paused_seq": paused_seq,
        "tool_call_id": tool_call_id,
    }
    if models.ToolApproval.objects.filter(**key).exists():
        return False
    models.ToolApproval.objects.create(**key, used_at=tx.now)
    return True
