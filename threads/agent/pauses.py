"""What an agent's output means for its run: a reply, or a pause; and what answers a pause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_core import to_json

from artifacts import core
from threads.services.deeds import Resumption
from threads.services.endings import Ending

from .calls import logged_id
from .failures import EmptyReply
from .history import IN_DOUBT


def ending_of(output: Any) -> Ending:
    """How a run ends whose agent came to its end."""
    if isinstance(output, DeferredToolRequests):
        return Ending("paused", requests=requests_of(output))
    reply = output if isinstance(output, str) else to_json(output).decode()
    if not reply.replace("\0", "").strip():
        raise EmptyReply
    return Ending("completed", reply=reply)


def requests_of(output: DeferredToolRequests) -> tuple[core.DeferredRequest, ...]:
    """Every request that a run ended with: questions, then approvals."""
    return (*_requests(output.calls, "question"), *_requests(output.approvals, "approval"))


def _requests(
    calls: Iterable[ToolCallPart], kind: Literal["question", "approval"]
) -> Iterator[core.DeferredRequest]:
    for call in calls:
        yield core.DeferredRequest(
            tool_call_id=logged_id(call.tool_call_id),
            tool_name=call.tool_name,
            kind=kind,
            args=call.args_as_dict(),
        )


def results_of(
    resumption: Resumption, open_calls: Iterable[ToolCallPart]
) -> DeferredToolResults | None:
    """The answers to the calls that still wait for them; None if no call of this pause does.

    A call whose approval was used by an attempt that died is in doubt: it is not made again.
    """
    kinds = {each.tool_call_id: each.kind for each in resumption.requests}
    results = DeferredToolResults()
    for call in open_calls:
        id = logged_id(call.tool_call_id)
        if id not in kinds:
            continue
        answer = resumption.answers[id]
        if kinds[id] == "question":
            results.calls[call.tool_call_id] = answer.answer
        elif id in resumption.spent:
            results.calls[call.tool_call_id] = ToolFailed(IN_DOUBT)
        elif answer.approved:
            results.approvals[call.tool_call_id] = True
        else:
            results.approvals[call.tool_call_id] = _denied(answer)
    return results if results.calls or results.approvals else None


def _denied(answer: core.Answer) -> ToolDenied:
    reason = answer.answer if isinstance(answer.answer, str) else None
    if not reason:
        return ToolDenied()
    return ToolDenied(f"The person did not approve this call: {reason}")
