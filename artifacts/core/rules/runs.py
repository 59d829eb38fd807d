"""Runs: the facts an agent's turn records, in the only order they can happen; and answers.

Only the thread's own agent, or the system, records facts about its runs.
"""

from __future__ import annotations

from pydantic_core import to_json

from artifacts.core.actors import AgentActor, SystemActor, is_agent
from artifacts.core.commands import AnswerDeferred
from artifacts.core.errors import Forbidden, InvalidState, NotFound, ValidationFailed
from artifacts.core.events import (
    EVENT_TYPES,
    AppEvent,
    DeferredAnswered,
    RunEnded,
    RunFact,
    RunPaused,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from artifacts.core.json_input import check_json
from artifacts.core.outcomes import Recorded
from artifacts.core.state import Answer, CommitResult, Run

from .case import Case


def record_run_fact(case: Case, fact: RunFact) -> CommitResult:
    """Take one fact of a run's life into the log."""
    _check_recorder(case, fact.thread_id)
    case.thread(fact.thread_id)
    _check_size(case, fact)
    run = _started(case, fact) if isinstance(fact, RunStarted) else _going_on(case, fact)
    return CommitResult(outcome=Recorded(run_id=run.id), events=(fact,), runs=(run,))


def record_app_event(case: Case, fact: AppEvent) -> CommitResult:
    """Take an application's own event into the log; it never stands for a known event."""
    _check_recorder(case, fact.thread_id)
    case.check_thread(fact.thread_id)
    if fact.run_id is not None:
        case.run_of(fact.run_id, fact.thread_id)
    case.check_chars("name", fact.name, case.limits.app_event_name_chars)
    if fact.name in EVENT_TYPES:
        raise ValidationFailed.at(["name"], "is the name of a known event")
    check_json(fact.data, limits=case.limits)
    if len(to_json(fact.data)) > case.limits.app_event_bytes:
        raise ValidationFailed.at(
            ["data"], f"at most {case.limits.app_event_bytes} bytes of JSON", "too_long"
        )
    return CommitResult(outcome=Recorded(run_id=fact.run_id), events=(fact,))


def answer_deferred(case: Case, command: AnswerDeferred) -> CommitResult:
    """Answer one request of a paused run, once, in the form it asks for."""
    run = case.run(command.run_id)
    if isinstance(case.actor, AgentActor):
        raise Forbidden("an agent does not answer its own requests")
    if run.status != "paused":
        raise InvalidState(f"this run is {run.status}, it waits for no answer")
    request = next(
        (each for each in run.pending if each.tool_call_id == command.tool_call_id), None
    )
    if request is None:
        raise NotFound("request", command.tool_call_id)
    if any(each.tool_call_id == command.tool_call_id for each in run.answers):
        raise InvalidState("this request is already answered")
    check_json(command.answer, limits=case.limits, field="answer")
    _check_form(case, command, request.kind)
    answer = Answer(
        tool_call_id=command.tool_call_id, answer=command.answer, approved=command.approved
    )
    event = DeferredAnswered(
        run_id=run.id,
        thread_id=run.thread_id,
        tool_call_id=command.tool_call_id,
        answer=command.answer,
        approved=command.approved,
    )
    answered = run.model_copy(update={"answers": (*run.answers, answer)})
    return CommitResult(outcome=Recorded(run_id=run.id), events=(event,), runs=(answered,))


def _check_form(case: Case, command: AnswerDeferred, kind: str) -> None:
    if kind == "approval":
        if is_agent(case.actor):
            raise Forbidden("agents do not approve")
        if command.approved is None:
            raise ValidationFailed.at(["approved"], "an approval is answered with approved")
        return
    if command.answer is None or command.approved is not None:
        raise ValidationFailed.at(["answer"], "a question is answered with answer")


def _check_recorder(case: Case, thread_id: str | None) -> None:
    match case.actor:
        case SystemActor():
            return
        case AgentActor(thread_id=own) if own == thread_id:
            return
    raise Forbidden("only the thread's own agent or the system records this")


def _check_size(case: Case, fact: RunFact) -> None:
    if isinstance(fact, RunPaused):
        said = [said for each in fact.requests for said in (each.args, each.metadata)]
        check_json(said, limits=case.limits, field="requests")
    if isinstance(fact, RunPaused | RunEnded):
        check_json(fact.usage, limits=case.limits, field="usage")
    if len(to_json(fact)) > case.limits.artifact_bytes:
        raise ValidationFailed.at(
            [], f"{fact.type} of more than {case.limits.artifact_bytes} bytes", "too_long"
        )


def _started(case: Case, fact: RunStarted) -> Run:
    run = case.state.runs.get(fact.run_id)
    traces = (fact.trace_id,) if fact.trace_id else ()
    if fact.trigger != "resume":
        if run is not None:
            raise InvalidState("this run id is already used")
        return Run(id=fact.run_id, thread_id=fact.thread_id, trace_ids=traces)
    run = case.run_of(fact.run_id, fact.thread_id)
    if run.status != "paused":
        raise InvalidState(f"this run is {run.status}, only a paused one resumes")
    if len(run.answers) < len(run.pending):
        raise InvalidState("this run still waits for answers")
    return run.model_copy(
        update={
            "status": "running",
            "pending": (),
            "answers": (),
            "trace_ids": (*run.trace_ids, *traces),
        }
    )


def _going_on(case: Case, fact: ToolCalled | ToolReturned | RunPaused | RunEnded) -> Run:
    run = case.run_of(fact.run_id, fact.thread_id)
    if run.has_ended:
        raise InvalidState(f"this run is already {run.status}")
    match fact:
        case RunEnded():
            return run.model_copy(update={"status": fact.status, "pending": (), "answers": ()})
        case RunPaused():
            _check_running(run)
            if not fact.requests:
                raise ValidationFailed.at(["requests"], "a pause waits for at least one request")
            return run.model_copy(
                update={"status": "paused", "pending": fact.requests, "answers": ()}
            )
        case _:
            _check_running(run)
            return run


def _check_running(run: Run) -> None:
    if run.status != "running":
        raise InvalidState(f"this run is {run.status}")
