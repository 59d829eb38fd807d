"""Processes that die in the middle of a turn: everything they wrote stays, nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage

from artifacts import clock
from artifacts.workspace import open_workspace
from tests.threads.conftest import Chat
from threads.services import openings, steps, turns


class Killed(BaseException):
    """No `except Exception` of the process sees it."""


async def killed(messages: list[ModelMessage]) -> Any:
    """A step of a model during whose request the process dies."""
    raise Killed


def dies(chat: Chat) -> None:
    """Take the turn in a process that does not live to its end."""
    with pytest.raises(Killed):
        chat.run_turn()


def die_at_once(chat: Chat) -> None:
    """Begin what waits, and die before the model is asked."""
    workspace = open_workspace(chat.workspace.id, actor=turns.SYSTEM)
    with turns.claimed(workspace, chat.id) as claim:
        assert claim is not None
        turn = openings.next_turn(claim, chat.id)
        assert turn is not None
        steps.start(turn, None)


@contextmanager
def after_the_wait(chat: Chat) -> Iterator[None]:
    """What the dead process left is found, and the wait before the next attempt is over."""
    chat.run_turn()
    with clock.moved(timedelta(minutes=3)):
        yield
