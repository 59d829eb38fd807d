"""From the columns of rows to threads and runs as core knows them, for selectors and store.

What stands in a row was validated when it was written, so only its JSON is read again.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json

from artifacts import core

# In the order that the functions below take them.
THREAD_COLUMNS = "t.public_id, t.title, t.mode, t.focus, t.agent"
RUN_COLUMNS = "r.public_id, t.public_id, r.status, r.pending, r.answers, r.trace_ids"

_pending: TypeAdapter[tuple[core.DeferredRequest, ...]] = TypeAdapter(
    tuple[core.DeferredRequest, ...]
)
_answers: TypeAdapter[tuple[core.Answer, ...]] = TypeAdapter(tuple[core.Answer, ...])


def as_thread(id: str, title: str, mode: Any, focus: str, agent: str | None) -> core.Thread:
    return core.Thread.model_construct(
        id=id, title=title, mode=mode, focus=tuple(from_json(focus)), agent=agent
    )


def as_run(
    id: str, thread_id: str, status: Any, pending: str, answers: str, trace_ids: str
) -> core.Run:
    return core.Run.model_construct(
        id=id,
        thread_id=thread_id,
        status=status,
        pending=_pending.validate_json(pending),
        answers=_answers.validate_json(answers),
        trace_ids=tuple(from_json(trace_ids)),
    )
