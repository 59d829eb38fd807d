"""The host's agents by name: `ARTIFACTR["AGENTS"]` maps each to a dotted path."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UserError

from artifacts import conf

from . import asking
from .session import Session

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Hosted:
    """An agent, and what the host hands to its tools as `ctx.deps.app`.

    With a `recipe` of the workspace's catalog, its text is told to the agent in each turn, besides
    its own instructions; `parameters` gives what the recipe is rendered with.
    """

    agent: AbstractAgent[Any, Any]
    app: Any = None
    recipe: str | None = None
    parameters: Callable[[Session[Any]], Mapping[str, Any]] | None = None


class AgentUnknown(LookupError):
    """A thread names an agent that this installation does not have."""


class NeverPauses(UserError):
    """An agent has tools that wait for a person, and an output that cannot hold such a wait."""

    def __init__(self, tools: list[str]) -> None:
        self.tools = tools
        super().__init__(f"{', '.join(tools)} would wait for a person, which its output cannot")


def hosted(name: str | None) -> Hosted:
    """The agent of this name, ready to run."""
    path = conf.settings().AGENTS.get(name or DEFAULT)
    if path is None:
        raise AgentUnknown
    found = _made.of(path)
    check_pausing(found.agent)
    return found


def check_pausing(agent: AbstractAgent[Any, Any]) -> None:
    """Refuse an agent that would ask and could not wait for the answer."""
    if not asking.may_wait(agent) and (tools := asking.waiting_tools(agent)):
        raise NeverPauses(tools)


def made(path: str) -> Hosted:
    """What a dotted path gives: an agent, a `Hosted`, or a function that returns either."""
    try:
        found = import_string(path)
        if callable(found) and not isinstance(found, AbstractAgent):
            found = found()
    except Exception as error:
        raise UserError(f"the agent {path!r} cannot be made: {error}") from error
    if isinstance(found, AbstractAgent):
        found = Hosted(found)
    if not isinstance(found, Hosted):
        raise UserError(f"{path!r} gives {type(found).__name__}, not an agent or Hosted")
    return found


class _Made:
    """A function that makes an agent is called once per process, until the settings change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settings: Any = None
        self._by_path: dict[str, Hosted] = {}

    def of(self, path: str) -> Hosted:
        with self._lock:
            if self._settings is not conf.given():
                self._settings, self._by_path = conf.given(), {}
            if path not in self._by_path:
                self._by_path[path] = made(path)
            return self._by_path[path]


_made = _Made()
