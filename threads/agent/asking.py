"""Asking a person: the `ask_user` tool, and whether an agent can wait for what it asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Field, StringConstraints
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.tools import DeferredToolRequests, RunContext, Tool, ToolDefinition
from pydantic_ai.toolsets import (
    AbstractToolset,
    ApprovalRequiredToolset,
    CombinedToolset,
    ExternalToolset,
    FunctionToolset,
    WrapperToolset,
)

from artifacts.core.values import FilledText

from .session import Session

# Marks the tool in its metadata: a question is told by the run's pause, not as a tool's call.
ASKS = "artifactr_asks"
QUESTION_CHARS = 4_000
CHOICE_CHARS = 200
MOST_CHOICES = 20

Question = Annotated[FilledText, StringConstraints(max_length=QUESTION_CHARS)]
Choice = Annotated[FilledText, StringConstraints(max_length=CHOICE_CHARS)]
Choices = Annotated[list[Choice], Field(min_length=2, max_length=MOST_CHOICES)]


async def ask_user(
    ctx: RunContext[Session[Any]], question: Question, choices: Choices | None = None
) -> str:
    """Ask the person you work for, and wait for the answer. Ask only what you need to go on.

    Args:
        question: What you want to know.
        choices: Answers to choose from, if there are few.
    """
    raise CallDeferred


def question_tool() -> Tool[Session[Any]]:
    return Tool(ask_user, metadata={ASKS: True})


def is_question(tool: ToolDefinition) -> bool:
    """Whether a call of this tool is a question and nothing else."""
    return bool((tool.metadata or {}).get(ASKS))


def can_pause(output_type: Any) -> bool:
    """Whether an agent with this output can end a run with requests that wait for people."""
    if isinstance(output_type, Sequence) and not isinstance(output_type, str):
        return any(map(can_pause, output_type))
    if get_origin(output_type) in (Union, UnionType):
        return any(map(can_pause, get_args(output_type)))
    return output_type is DeferredToolRequests


def may_wait(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether calls that wait for somebody find an end: in a pause, or inside the run."""
    capabilities: list[AbstractCapability[Any]] = []
    agent.root_capability.apply(capabilities.append)
    return can_pause(agent.output_type) or any(map(_decides_itself, capabilities))


def waiting_tools(agent: AbstractAgent[Any, Any]) -> list[str]:
    """The agent's tools that say of themselves that they wait for a person."""
    return sorted({name for each in agent.toolsets for name in _waiting(each)})


def _decides_itself(capability: AbstractCapability[Any]) -> bool:
    """Whether deferred calls are settled inside the run, so that none of them waits."""
    hook = type(capability).handle_deferred_tool_calls
    return hook is not AbstractCapability.handle_deferred_tool_calls


def _waiting(toolset: AbstractToolset[Any], *, all_wait: bool = False) -> Iterator[str]:
    match toolset:
        case FunctionToolset(tools=tools):
            for name, tool in tools.items():
                if all_wait or tool.requires_approval or (tool.metadata or {}).get(ASKS):
                    yield name
        case ExternalToolset():
            yield from (each.name for each in toolset.tool_defs)
        case CombinedToolset():
            for each in toolset.toolsets:
                yield from _waiting(each, all_wait=all_wait)
        case WrapperToolset():
            is_guard = isinstance(toolset, ApprovalRequiredToolset)
            yield from _waiting(toolset.wrapped, all_wait=all_wait or is_guard)
