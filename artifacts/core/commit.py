"""The one dispatch: what a command or fact needs to see, and the rule that decides it.

    state = State()
    while missing := needs(command, actor=actor, state=state):
        state = load(missing, into=state)  # the host's I/O
    result = commit(command, state, actor=actor)

Both functions are pure: the same command against the same state gives the same result.
"""

from __future__ import annotations

from typing import assert_never

from .actors import Actor, AgentActor, EvaluatorActor, is_agent
from .commands import (
    AnswerDeferred,
    AnyCommand,
    ArchiveArtifact,
    ArtifactCommand,
    CreateArtifact,
    CreateThread,
    EditArtifact,
    GiveFeedback,
    PostMessage,
    ProposeChange,
    PutArtifact,
    ResolveGroup,
    RespondToProposal,
    RevertArtifact,
    SetFocus,
    SetThreadMode,
)
from .errors import Forbidden, Rejection
from .events import AnyFact, AppEvent
from .limits import DEFAULT_LIMITS, Limits
from .rules.artifacts import change_directly, must_be_proposed, needs_change
from .rules.case import Case, origin_thread, wanted
from .rules.feedback import give_feedback, needs_target
from .rules.groups import needs_group, resolve_group
from .rules.proposals import (
    needs_new_proposal,
    needs_respond,
    propose,
    propose_change,
    respond_to_proposal,
)
from .rules.runs import answer_deferred, record_app_event, record_run_fact
from .rules.threads import create_thread, post_message, set_focus, set_thread_mode
from .state import CommitResult, Needs, State


def needs(
    item: AnyCommand | AnyFact, *, actor: Actor, state: State, limits: Limits = DEFAULT_LIMITS
) -> Needs:
    """The ids, by family, that must be looked up before `item` can be decided.

    Ask again after loading: some needs are known only once the first entities are there. Falsy
    when nothing is missing.
    """
    return state.missing(_wanted(item, actor, state, limits))


def commit(
    command: AnyCommand,
    state: State,
    *,
    actor: Actor,
    limits: Limits = DEFAULT_LIMITS,
    kinds: frozenset[str] | None = None,
    agents: frozenset[str] | None = None,
) -> CommitResult:
    """Decide a command, or raise the `Rejection` it deserves; nothing given is changed."""
    if isinstance(actor, EvaluatorActor) and not isinstance(command, GiveFeedback):
        raise Forbidden("an evaluator gives feedback and nothing else")
    return _decide(Case(state, actor, limits, kinds, agents), command)


def record(
    fact: AnyFact, state: State, *, actor: Actor, limits: Limits = DEFAULT_LIMITS
) -> CommitResult:
    """Take a fact about a run, or an application event, into the log."""
    case = Case(state, actor, limits)
    return (
        record_app_event(case, fact) if isinstance(fact, AppEvent) else record_run_fact(case, fact)
    )


def _decide(case: Case, command: AnyCommand) -> CommitResult:  # noqa: C901 - the one dispatch
    match command:
        case (
            CreateArtifact() | EditArtifact() | ArchiveArtifact() | PutArtifact() | RevertArtifact()
        ):
            return _change(case, command)
        case ProposeChange():
            return propose_change(case, command)
        case RespondToProposal():
            return respond_to_proposal(case, command)
        case ResolveGroup():
            return resolve_group(case, command)
        case CreateThread():
            return create_thread(case, command)
        case PostMessage():
            return post_message(case, command)
        case SetFocus():
            return set_focus(case, command)
        case SetThreadMode():
            return set_thread_mode(case, command)
        case AnswerDeferred():
            return answer_deferred(case, command)
        case GiveFeedback():
            return give_feedback(case, command)
        case _:
            assert_never(command)


def _change(case: Case, command: ArtifactCommand) -> CommitResult:
    case.check_origin(command.thread_id)
    if must_be_proposed(case, command):
        return propose(case, command, proposal_id=command.proposal_id)
    return change_directly(case, command)


def _wanted(
    item: AnyCommand | AnyFact, actor: Actor, state: State, limits: Limits
) -> dict[str, set[str]]:
    match item:
        case (
            CreateArtifact() | EditArtifact() | ArchiveArtifact() | PutArtifact() | RevertArtifact()
        ):
            return _wanted_by_change(item, actor, state)
        case ProposeChange():
            return (
                needs_change(item.change, state)
                | wanted(threads=origin_thread(actor, item.change.thread_id))
                | needs_new_proposal(actor, item.proposal_id, item.group_id)
            )
        case RespondToProposal():
            return needs_respond(item, state)
        case ResolveGroup():
            return needs_group(item, state)
        case CreateThread() | SetThreadMode():
            return wanted(threads=item.thread_id)
        case PostMessage():
            return wanted(threads=item.thread_id, messages=item.message_id)
        case SetFocus():
            # One more than fits is enough to refuse the rest unseen.
            focus = tuple(dict.fromkeys(item.artifact_ids))[: limits.focus_artifacts + 1]
            return wanted(threads=item.thread_id, artifacts=focus)
        case AnswerDeferred():
            return wanted(runs=item.run_id)
        case GiveFeedback():
            return needs_target(item.target)
        case _:  # every fact
            return wanted(threads=item.thread_id, runs=item.run_id)


def _wanted_by_change(command: ArtifactCommand, actor: Actor, state: State) -> dict[str, set[str]]:
    needs = needs_change(command, state)
    threads = {origin_thread(actor, command.thread_id)}
    if isinstance(actor, AgentActor):
        threads.add(actor.thread_id)
    needs |= wanted(threads=threads)
    if is_agent(actor) and not state.missing(needs) and _would_propose(command, actor, state):
        needs |= needs_new_proposal(actor, command.proposal_id)
    return needs


def _would_propose(command: ArtifactCommand, actor: Actor, state: State) -> bool:
    try:
        return must_be_proposed(Case(state, actor, DEFAULT_LIMITS), command)
    except Rejection:
        return False  # deciding the command says why
