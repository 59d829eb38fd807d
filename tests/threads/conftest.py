"""A workspace, its people and a thread; real commits, so that other threads see them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from artifacts import core, models
from artifacts.surfaces.authentication import actor_for_user
from artifacts.workspace import Workspace, open_workspace
from tests.support.cast import ANA, make_workspace
from threads import selectors, tasks


@dataclass(frozen=True)
class Chat:
    """A thread in a workspace, as Ana sees it."""

    workspace: Workspace
    id: str

    def post(self, text: str, *, actor: core.UserActor = ANA, kind: Any = "message") -> str:
        command = core.PostMessage(thread_id=self.id, content=text, kind=kind)
        self.workspace.as_actor(actor).commit(command)
        return command.message_id

    def run_turn(self) -> None:
        """What a worker does with the wake-up."""
        tasks.run_turn(self.workspace.id, self.id)

    def said(self) -> list[str]:
        return [
            each.event.content
            for each in selectors.messages(self.workspace, self.id)
            if isinstance(each.event, core.MessagePosted)
        ]

    def runs(self) -> list[core.Run]:
        return selectors.runs(self.workspace, thread_id=self.id)

    def events(self, *types: type[Any]) -> list[Any]:
        """The events of these types, in order."""
        return [each.event for each in self.workspace.read() if isinstance(each.event, types)]


@pytest.fixture
def workspace(transactional_db: None) -> Workspace:
    return open_workspace(make_workspace().public_id, actor=ANA)


@pytest.fixture
def open_chat(workspace: Workspace) -> Callable[..., Chat]:
    def opened(place: Workspace = workspace) -> Chat:
        command = core.CreateThread(title="A chat")
        place.commit(command)
        return Chat(place, command.thread_id)

    return opened


@pytest.fixture
def chat(open_chat: Callable[[], Chat]) -> Chat:
    return open_chat()


@pytest.fixture
def ana(transactional_db: None) -> Workspace:
    """A workspace of which Ana is the only member, with one chat."""
    row = make_workspace()
    user = get_user_model()._default_manager.create_user("ana", first_name="Ana")
    models.Membership.objects.create(workspace=row, user=user, role="reviewer")
    door = open_workspace(row.public_id, actor=actor_for_user(user))
    door.commit(core.CreateThread(thread_id="thr_1", title="Planning"))
    return door
