"""The host's agents by name: `ARTIFACTR["AGENTS"]` maps each to a dotted path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string
from pydantic_ai import Agent

from artifacts import conf

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Hosted:
    """An agent, and what the host hands to its tools as `ctx.deps.app`."""

    agent: Agent[Any, Any]
    app: Any = None


class AgentUnknown(LookupError):
    """A thread names an agent that this installation does not have."""


def hosted(name: str | None) -> Hosted:
    """The agent of this name; the setting may name an agent, a `Hosted`, or what returns one."""
    path = conf.settings().AGENTS.get(name or DEFAULT)
    if path is None:
        raise AgentUnknown
    try:
        found = import_string(path)
    except ImportError as error:
        raise AgentUnknown from error
    if callable(found) and not isinstance(found, Agent):
        found = found()
    return found if isinstance(found, Hosted) else Hosted(found)
