"""What an agent's output means for its run: a reply, or a pause; and what answers a pause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_core import from_json, to_json

from artifacts import core
from threads.services.deeds import Resumption
from threads.services.endings import Ending
from threads.services.openings import Turn

from .calls import logged_id, summary
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
    return (
        *_requests(output.calls, "question", output.metadata),
        *_requests(output.approvals, "approval", output.metadata),
    )


def _requests(
    calls: Iterable[ToolCallPart],
    kind: Literal["question", "approval"],
    metadata: Mapping[str, Any],
) -> Iterator[core.DeferredRequest]:
    for call in calls:
        said = metadata.get(call.tool_call_id)
        yield core.DeferredRequest(
            tool_call_id=logged_id(call.tool_call_id),
            tool_name=call.tool_name,
            kind=kind,
            args=call.args_as_dict(),
            metadata=from_json(to_json(said, fallback=repr, inf_nan_mode="null")) if said else None,
        )


def results_of(
    resumption: Resumption, open_calls: Iterable[ToolCallPart]
) -> DeferredToolResults | None:
    """The answers to the calls that still wait for them; None if no call of this pause does.

    A call whose approval was used by an attempt that died is in doubt: it is not made again.
    """
    requests = {each.tool_call_id: each for each in resumption.requests}
    results = DeferredToolResults()
    for call in open_calls:
        request = requests.get(logged_id(call.tool_call_id))
        if request is None:
            continue
        answer = resumption.answers[request.tool_call_id]
        if request.kind == "question":
            results.calls[call.tool_call_id] = answer.answer
        elif request.tool_call_id in resumption.spent:
            results.calls[call.tool_call_id] = ToolFailed(IN_DOUBT)
        elif answer.approved:
            results.approvals[call.tool_call_id] = True
            if request.metadata is not None:
                results.metadata[call.tool_call_id] = request.metadata
        else:
            results.approvals[call.tool_call_id] = _denied(answer)
    return results if results.calls or results.approvals else None


def returns_of(turn: Turn) -> Iterator[core.ToolReturned]:
    """The facts of calls that asked in the middle of their tool and come back without it: what
    they were answered, or that they were declined."""
    pause = turn.resumption
    for request in pause.requests if pause else ():
        assert pause is not None
        answer = pause.answers[request.tool_call_id]
        is_question = request.kind == "question"
        if request.tool_call_id in pause.begun and (is_question or not answer.approved):
            yield core.ToolReturned(
                run_id=turn.run_id,
                thread_id=turn.thread.id,
                tool_call_id=request.tool_call_id,
                tool_name=request.tool_name,
                status="ok" if is_question else "error",
                summary=summary(answer.answer if is_question else _denied(answer).message),
            )


def in_all(turn: Turn, ending: Ending) -> Ending:
    """The ending with what the whole run used: a run that paused had attempts before this one."""
    pause = turn.resumption
    if pause is None or pause.used is None or pause.run_id != turn.run_id:
        return ending
    used = Counter(pause.used)
    used.update(ending.usage or {})
    return replace(ending, usage=dict(used))


def _denied(answer: core.Answer) -> ToolDenied:
    reason = answer.answer if isinstance(answer.answer, str) else None
    if not reason:
        return ToolDenied()
    return ToolDenied(f"The person did not approve this call: {reason}")
