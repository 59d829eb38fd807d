"""Agents' turns by script: a model, what people do meanwhile, and the log to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from artifacts import clock, core
from tests.support.models import hosting
from tests.threads.conftest import Chat
from tests.threads.dying import Killed
from tests.threads.turn_scripts import Playing, TurnScript, scripts
from threads.services.door import watch

FIELDS = {"name", "statement", "notices", "output", "settings", "before", "model", "script", "log"}
FIELDS |= {"live"}


@pytest.fixture(autouse=True)
def _clock_as_it_was() -> Iterator[None]:
    before = clock.shift()
    yield
    clock.move(before - clock.shift())


@pytest.mark.parametrize("script", list(scripts()), ids=lambda script: script.id)
def test_script(chat: Chat, script: TurnScript) -> None:
    assert set(script.raw) <= FIELDS
    playing = Playing(script, chat.workspace, chat.id)
    playing.prepare()
    with hosting(playing.agent, **script.raw.get("settings", {})):
        for happening in script.raw["script"]:
            match happening:
                case "turn":
                    chat.run_turn()
                case "dies":
                    with pytest.raises(Killed):
                        chat.run_turn()
                case "waited":
                    clock.move(timedelta(minutes=3))
                case _:
                    playing.act(happening)
    assert not playing.differences(), "\n".join(playing.differences())
    assert playing.model.steps == [], "the model was not asked so often"
    assert chat.workspace.verify() == []
    if "live" in script.raw:
        assert frames(chat) == script.raw["live"]


def frames(chat: Chat) -> list[str]:
    """The live frames of the newest run, those of one kind in a row as one."""
    run_id = chat.events(core.RunStarted)[-1].run_id

    async def seen() -> list[Any]:
        return [each async for each in watch(chat.workspace, run_id)]

    found: list[str] = []
    for each in async_to_sync(seen)():
        if found[-1:] != [each.type]:
            found.append(each.type)
    return found


def test_each_script_has_a_name_of_its_own() -> None:
    names = [each.id for each in scripts()]
    assert len(names) == len(set(names)) >= 25
