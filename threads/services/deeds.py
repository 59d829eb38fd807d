"""What earlier attempts of a turn did, read from the log: for those who take it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artifacts import core

LINES = 50  # of what an earlier attempt did, the last ones


@dataclass(frozen=True, slots=True)
class Resumption:
    """A pause whose requests are all answered. `spent` are approved calls that were let through to
    their tools before: whether those took effect is in doubt."""

    run_id: str
    paused_seq: int
    requests: tuple[core.DeferredRequest, ...]
    answers: Mapping[str, core.Answer]
    traceparent: str | None = None  # of the last answer
    spent: frozenset[str] = frozenset()


def resumption(events: Sequence[core.Envelope]) -> Resumption | None:
    """The last pause of these runs with its answers, if it has them all."""
    pause, answers, traceparent = None, dict[str, core.Answer](), None
    for each in events:
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
    return Resumption(pause.event.run_id, pause.seq, requests, answers, traceparent)


def in_doubt(events: Sequence[core.Envelope]) -> frozenset[str]:
    """The tool calls that were begun and never came back."""
    begun: Counter[str] = Counter()
    for each in events:
        match each.event:
            case core.ToolCalled(tool_call_id=id):
                begun[id] += 1
            case core.ToolReturned(tool_call_id=id):
                begun[id] -= 1
            case core.RunPaused(requests=requests):
                # These only asked; what approved ones did since is told by their own record.
                begun.subtract(each.tool_call_id for each in requests if begun[each.tool_call_id])
    return frozenset(id for id, count in begun.items() if count > 0)


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
