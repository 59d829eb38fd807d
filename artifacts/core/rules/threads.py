"""Threads: opening one, its messages, its focus and its mode. A message is an event alone."""

from __future__ import annotations

from artifacts.core.actors import is_agent
from artifacts.core.commands import CreateThread, PostMessage, SetFocus, SetThreadMode
from artifacts.core.errors import Forbidden, InvalidState, ValidationFailed
from artifacts.core.events import FocusChanged, MessagePosted, ThreadCreated, ThreadModeChanged
from artifacts.core.outcomes import Recorded
from artifacts.core.state import CommitResult, Thread

from .case import Case, origin_run


def create_thread(case: Case, command: CreateThread) -> CommitResult:
    """Open a thread under an unused id."""
    case.check_chars("title", command.title, case.limits.title_chars)
    if case.state.threads.get(command.thread_id) is not None:
        raise InvalidState("this thread id is already used")
    if command.agent is not None and case.agents is not None and command.agent not in case.agents:
        raise ValidationFailed.at(["agent"], "is not an agent of this installation")
    thread = Thread(id=command.thread_id, title=command.title, agent=command.agent)
    event = ThreadCreated(thread_id=thread.id, title=thread.title, agent=thread.agent)
    return CommitResult(outcome=Recorded(), events=(event,), threads=(thread,))


def post_message(case: Case, command: PostMessage) -> CommitResult:
    """Say something under an id that was never used here."""
    case.thread(command.thread_id)
    case.check_own_thread(command.thread_id)
    case.check_bytes("content", command.content, case.limits.message_bytes)
    if case.state.messages.get(command.message_id):
        raise InvalidState("this message id is already used")
    event = MessagePosted(
        thread_id=command.thread_id,
        message_id=command.message_id,
        content=command.content,
        kind=command.kind,
        run_id=origin_run(case.actor),
    )
    return CommitResult(outcome=Recorded(), events=(event,), messages=(command.message_id,))


def set_focus(case: Case, command: SetFocus) -> CommitResult:
    """Say which artifacts a thread is about; the same ones again record nothing."""
    thread = case.thread(command.thread_id)
    case.check_own_thread(command.thread_id)
    focus = tuple(dict.fromkeys(command.artifact_ids))
    if len(focus) > case.limits.focus_artifacts:
        raise ValidationFailed.at(
            ["artifact_ids"], f"at most {case.limits.focus_artifacts} artifacts", "too_long"
        )
    for id in focus:
        case.artifact(id)
    if focus == thread.focus:
        return CommitResult(outcome=Recorded())
    return CommitResult(
        outcome=Recorded(),
        events=(FocusChanged(thread_id=thread.id, artifact_ids=focus),),
        threads=(thread.model_copy(update={"focus": focus}),),
    )


def set_thread_mode(case: Case, command: SetThreadMode) -> CommitResult:
    """Switch between editing and suggesting; agents do not switch it, it binds them."""
    thread = case.thread(command.thread_id)
    if is_agent(case.actor):
        raise Forbidden("an agent does not set the mode that binds it")
    if command.mode == thread.mode:
        return CommitResult(outcome=Recorded())
    return CommitResult(
        outcome=Recorded(),
        events=(ThreadModeChanged(thread_id=thread.id, mode=command.mode),),
        threads=(thread.model_copy(update={"mode": command.mode}),),
    )
