"""What a thread's agent is told besides its own instructions: the text of the recipe that the host
names for it. Where such texts come from is registered by the app that has them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_ai.exceptions import UserError

from artifacts.core.errors import ConfigurationError, Rejection
from artifacts.workspace import Workspace

from .agents import Hosted
from .session import Session

log = logging.getLogger(__name__)

# The workspace in the agent's hands, the run, the recipe's name and its parameters. The text holds
# for the block, and what is put on spans in it is about this turn.
InstructionSource = Callable[[Workspace, str, str, Mapping[str, Any]], AbstractContextManager[str]]

_sources: list[InstructionSource] = []


class NoInstructions(Exception):
    """The recipe that an agent runs on was not rendered."""

    def __init__(self, recipe: str, code: str) -> None:
        super().__init__(recipe, code)
        self.recipe, self.code = recipe, code


@dataclass(frozen=True, slots=True)
class Told:
    """What an attempt is told, if its agent runs on a recipe; or why it cannot be told."""

    text: str | None = None
    refused: Exception | None = None


def register_instruction_source(source: InstructionSource) -> None:
    """Say where the texts of recipes come from."""
    if _sources:
        raise ConfigurationError("an instruction source is already registered")
    _sources.append(source)


@contextmanager
def instructed(hosted: Hosted, session: Session[Any]) -> Iterator[Told]:
    """What one attempt is told, for the block; it is asked for once."""
    if hosted.recipe is None:
        yield Told()
        return
    try:
        around = _from_source(hosted, hosted.recipe, session)
        text = around.__enter__()
    except Rejection as refused:
        log.warning("run %s has no instructions: %s", session.run_id, refused)
        yield Told(refused=NoInstructions(hosted.recipe, refused.code))
        return
    except Exception as error:
        log.exception("run %s has no instructions", session.run_id)
        yield Told(refused=error)
        return
    try:
        yield Told(text)
    finally:
        around.__exit__(None, None, None)


def _from_source(hosted: Hosted, recipe: str, session: Session[Any]) -> AbstractContextManager[str]:
    if not _sources:
        raise UserError("the agent names a recipe, and no installed app renders recipes")
    [source] = _sources
    parameters = hosted.parameters(session) if hosted.parameters else {}
    return source(session.workspace, session.run_id, recipe, parameters)
