"""`stop_run` is answered once under its id, on every surface, and waits for no other command."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test import override_settings

from artifacts import core, extensions
from artifacts.access import Access
from artifacts.core.errors import ConfigurationError
from artifacts.models import CommandReceipt
from artifacts.models import Workspace as WorkspaceRow
from artifacts.surfaces.commands import carry_out
from artifacts.workspace import Workspace
from tests.support.cast import ANA, BEN, VERA
from tests.support.racing import PATIENCE, Background, together
from tests.support.spans import recorded
from tests.threads.conftest import Chat
from threads import models
from threads.services.stops import request_stop

# Nobody takes turns here, so runs stay as these tests put them.
pytestmark = pytest.mark.usefixtures("no_turns")


@pytest.fixture
def no_turns() -> Iterator[None]:
    with override_settings(ARTIFACTR={"EXECUTOR": "celery"}), extensions.isolated():
        extensions._reactions.clear()
        yield


def started(chat: Chat, run_id: str = "run_1") -> str:
    """A run that answers Ana."""
    agent = core.AgentActor(thread_id=chat.id, run_id=run_id, on_behalf_of=ANA)
    chat.workspace.as_actor(agent).record(core.RunStarted(run_id=run_id, thread_id=chat.id))
    return run_id


def ended(chat: Chat, run_id: str) -> None:
    agent = core.AgentActor(thread_id=chat.id, run_id=run_id)
    fact = core.RunEnded(run_id=run_id, thread_id=chat.id, status="stopped")
    chat.workspace.as_actor(agent).record(fact)


def asked_at(run_id: str) -> Any:
    return models.Run.objects.values_list("stop_requested_at", flat=True).get(public_id=run_id)


def as_member(workspace: Workspace, actor: core.UserActor, role: str) -> Workspace:
    return replace(workspace, actor=actor, access=Access(actor=actor, role=role))


@contextmanager
def held(workspace: Workspace) -> Iterator[None]:
    """Another command of this workspace is being carried out, lock and all."""
    inside, go_on = threading.Event(), threading.Event()

    def hold(tx: extensions.Transaction) -> None:
        inside.set()
        assert go_on.wait(PATIENCE), "nobody let the slow command go on"

    slow = Background(lambda: workspace.commit(core.CreateThread(title="slow"), also=[hold]))
    assert inside.wait(PATIENCE), "the slow command did not begin"
    try:
        yield
    finally:
        go_on.set()
    slow.result()


def test_a_repeat_gets_the_first_outcome_also_when_the_run_has_ended(
    open_chat: Callable[[], Chat],
) -> None:
    chat = open_chat()
    run_id = started(chat)
    first = request_stop(chat.workspace, run_id, command_id="s1")
    asked = asked_at(run_id)
    assert (first.wire(), asked is not None) == ({"type": "recorded", "run_id": run_id}, True)
    assert request_stop(chat.workspace, run_id, command_id="s1") == first
    ended(chat, run_id)
    assert request_stop(chat.workspace, run_id, command_id="s1") == first
    assert asked_at(run_id) == asked
    with pytest.raises(core.NotFound):  # the control: another id asks anew
        request_stop(chat.workspace, run_id, command_id="s2")
    with pytest.raises(core.NotFound):
        request_stop(chat.workspace, run_id)


def test_a_refusal_is_remembered_and_a_role_is_not(open_chat: Callable[[], Chat]) -> None:
    chat = open_chat()
    with pytest.raises(core.NotFound) as first:
        request_stop(chat.workspace, "run_1", command_id="s1")
    run_id = started(chat)
    with pytest.raises(core.NotFound) as again:
        request_stop(chat.workspace, run_id, command_id="s1")
    assert again.value.payload() == first.value.payload()
    assert asked_at(run_id) is None
    # Ben may not stop what answers Ana; once he reviews he may, under the same id.
    with pytest.raises(core.Forbidden):
        request_stop(as_member(chat.workspace, BEN, "editor"), run_id, command_id="s2")
    assert asked_at(run_id) is None
    request_stop(as_member(chat.workspace, BEN, "reviewer"), run_id, command_id="s2")
    assert asked_at(run_id) is not None
    with pytest.raises(core.Forbidden):
        request_stop(as_member(chat.workspace, VERA, "viewer"), run_id, command_id="s3")


def test_one_id_is_one_command_whatever_its_kind(open_chat: Callable[[], Chat]) -> None:
    chat = open_chat()
    run_id = started(chat)
    posted = chat.workspace.commit(core.CreateThread(title="t"), command_id="c1")
    assert request_stop(chat.workspace, run_id, command_id="c1") == posted
    assert asked_at(run_id) is None
    stopped = request_stop(chat.workspace, run_id, command_id="c2")
    head = chat.workspace.head_seq()
    assert chat.workspace.commit(core.CreateThread(title="t"), command_id="c2") == stopped
    assert chat.workspace.head_seq() == head
    # Another sender's same id is another command.
    request_stop(chat.workspace.as_actor(BEN), run_id, command_id="c1")
    assert asked_at(run_id) is not None


def test_many_at_once_are_one(open_chat: Callable[[], Chat]) -> None:
    chat = open_chat()
    run_id = started(chat)
    found = together(8, lambda _: request_stop(chat.workspace, run_id, command_id="s1"))
    assert found == [core.Recorded(run_id=run_id)] * 8
    assert CommandReceipt.objects.filter(command_id="s1").count() == 1


@pytest.mark.parametrize("command_id", ["s1", None], ids=["with an id", "without"])
def test_a_stop_waits_for_no_command_that_is_being_carried_out(
    open_chat: Callable[[], Chat], command_id: str | None
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one write lock for all: there a stop waits its turn")
    chat = open_chat()
    run_id = started(chat)
    with held(chat.workspace):
        for _ in range(2):
            stop = Background(lambda: request_stop(chat.workspace, run_id, command_id=command_id))
            assert stop.result() == core.Recorded(run_id=run_id)
        assert asked_at(run_id) is not None
        # The control: whoever needs the workspace's lock would still have to wait for it.
        rows = WorkspaceRow.objects.select_for_update(no_key=True, nowait=True)
        with pytest.raises(OperationalError), transaction.atomic():
            rows.get(pk=chat.workspace.pk)


def test_on_sqlite_a_stop_waits_its_turn_and_is_then_done(open_chat: Callable[[], Chat]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("what SQLite's one write lock means")
    chat = open_chat()
    run_id = started(chat)
    with held(chat.workspace):
        stop = Background(lambda: request_stop(chat.workspace, run_id, command_id="s1"))
        assert asked_at(run_id) is None
    assert stop.result() == core.Recorded(run_id=run_id)
    assert asked_at(run_id) is not None


def test_where_nobody_keeps_runs_there_is_none_to_stop(open_chat: Callable[[], Chat]) -> None:
    chat = open_chat()
    command = core.StopRun(run_id=started(chat))
    with extensions.isolated():
        extensions._stops.clear()
        with pytest.raises(core.NotFound):
            carry_out(chat.workspace, command)
    with pytest.raises(ConfigurationError):
        extensions.register_stop(request_stop)
    assert carry_out(chat.workspace, command) == core.Recorded(run_id="run_1")


def test_a_stop_has_its_span(open_chat: Callable[[], Chat]) -> None:
    chat = open_chat()
    run_id = started(chat)
    with recorded() as spans:
        request_stop(chat.workspace, run_id, command_id="s1")
        with pytest.raises(core.NotFound):
            request_stop(chat.workspace, "run_none")
    first, refused = (dict(span.attributes or {}) for span in spans.all)
    assert spans.names() == ["artifactr.command"] * 2
    assert (first["artifactr.command.type"], first["artifactr.run.id"]) == ("stop_run", run_id)
    assert (first["user.id"], refused["error.type"]) == (ANA.id, "not_found")
