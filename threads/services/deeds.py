"""What earlier attempts of a turn did, read from the log: for those who take it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from artifacts import core

LINES = 50  # of what an earlier attempt did, the last ones


@dataclass(frozen=True, slots=True)
class Resumption:
    """A pause whose requests are all answered. `spent` are approved calls that were let through to
    their tools before: whether those took effect is in doubt. `begun` are calls whose tool was
    executed, asked, and has not come back in the log."""

    run_id: str
    paused_seq: int
    requests: tuple[core.DeferredRequest, ...]
    answers: Mapping[str, core.Answer]
    begun: frozenset[str] = frozenset()
    used: Mapping[str, Any] | None = None  # by the run so far
    traceparent: str | None = None  # of the last answer
    spent: frozenset[str] = frozenset()


def resumption(events: Sequence[core.Envelope]) -> Resumption | None:
    """The last pause of these runs with its answers, if it has them all."""
    pause: core.Envelope | None = None
    answers, traceparent = dict[str, core.Answer](), None
    begun: Counter[str] = Counter()
    for each in events:
        _count(begun, each.event)
        match each.event:
            case core.RunPaused():
                pause, answers = each, {}
            case core.DeferredAnswered(tool_call_id=id, answer=answer, approved=approved):
                answers[id] = core.Answer(tool_call_id=id, answer=answer, approved=approved)
                traceparent = each.traceparent
    if pause is None or not isinstance(pause.event, core.RunPaused):
        return None
    if any(each.tool_call_id not in answers for each in pause.event.requests):
        return None
    requests = pause.event.requests
    return Resumption(
        run_id=pause.event.run_id,
        paused_seq=pause.seq,
        requests=requests,
        answers=answers,
        begun=frozenset(each.tool_call_id for each in requests if begun[each.tool_call_id]),
        used=pause.event.usage,
        traceparent=traceparent,
    )


def used_before(events: Sequence[core.Envelope], run_id: str) -> dict[str, Any] | None:
    """What a run had used when it last paused, its earlier attempts included."""
    pauses = (each.event for each in events if isinstance(each.event, core.RunPaused))
    used = [each.usage for each in pauses if each.run_id == run_id]
    return used[-1] if used else None


def in_doubt(events: Sequence[core.Envelope]) -> frozenset[str]:
    """The tool calls that were begun and never came back."""
    begun: Counter[str] = Counter()
    for each in events:
        _count(begun, each.event)
        if isinstance(each.event, core.RunPaused):
            # These only asked; what approved ones did since is told by their own record.
            for request in each.event.requests:
                begun[request.tool_call_id] = 0
    return frozenset(id for id, count in begun.items() if count > 0)


def _count(begun: Counter[str], event: object) -> None:
    """Calls that are open. A provider may use an id again, and one that asked comes back later."""
    match event:
        case core.ToolCalled(tool_call_id=id):
            begun[id] += 1
        case core.ToolReturned(tool_call_id=id):
            begun[id] = max(0, begun[id] - 1)


def retold(events: Sequence[core.Envelope]) -> str:
    """In words for the model: what was done before the process stopped."""
    doubtful = in_doubt(events)
    lines = [line for each in events if (line := _line(each.event, doubtful))]
    left_out = len(lines) - LINES
    if left_out > 0:
        lines = [f"({left_out} earlier steps are left out)", *lines[-LINES:]]
    done = "\n".join(f"- {line}" for line in lines) if lines else "- nothing"
    return (
        "The process that worked on this before stopped in the middle. "
        "Go on from here, and do not repeat what is done. Before it stopped you did:\n" + done
    )


def _line(event: object, doubtful: frozenset[str]) -> str | None:
    match event:
        case core.ArtifactCreated(artifact_id=id, kind=kind, version=version):
            return f"created {id} ({kind}, v{version})"
        case core.ArtifactChanged(artifact_id=id, kind=kind, version=version):
            return f"changed {id} ({kind}), now v{version}"
        case core.ArtifactArchived(artifact_id=id, kind=kind):
            return f"archived {id} ({kind})"
        case core.ProposalCreated(artifact_id=id, proposal_id=proposal_id):
            return f"proposed a change to {id} ({proposal_id})"
        case core.ToolCalled(tool_call_id=id, tool_name=name) if id in doubtful:
            return f"called {_plain(name)}, which did not come back: it may have taken effect"
        case core.ToolReturned(tool_name=name, status=status):
            return f"called {_plain(name)}: {status}"
    return None


def _plain(name: str) -> str:
    """A tool's name is what the model called it, so it may be anything."""
    return "".join(each for each in name[:100] if each.isalnum() or each in "_-.")
