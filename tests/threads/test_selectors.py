"""Reads of threads, runs and messages, and what stands behind them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from artifacts import core
from artifacts.access import Access
from artifacts.workspace import Workspace
from tests.support.cast import ANA, BEN
from tests.support.models import Script, hosting, say
from tests.threads.conftest import Chat
from threads import models, selectors

OpenChat = Callable[[], Chat]


def hide_everything(actor: core.Actor, workspace: object) -> core.Hidden:
    """What a host may set: Ben sees no thread that is called so."""
    ids = models.Thread.objects.filter(title="A chat").values_list("public_id", flat=True)
    return core.Hidden(threads=frozenset(ids))


def test_threads_come_oldest_first_in_pages(workspace: Workspace, open_chat: OpenChat) -> None:
    ids = [open_chat().id for _ in range(5)]
    first = selectors.threads(workspace, limit=3)
    rest = selectors.threads(workspace, after=first[-1].id, limit=3)
    assert [each.id for each in first + rest] == ids
    with pytest.raises(core.ValidationFailed):
        selectors.threads(workspace, after="thr_none")


def test_runs_come_oldest_first_and_by_thread(open_chat: OpenChat) -> None:
    one, other = open_chat(), open_chat()
    for chat in (one, other, one):
        chat.post("Hello?")
        with hosting(Script(say("Hello."))):
            chat.run_turn()
    everything = selectors.runs(one.workspace)
    assert [each.thread_id for each in everything] == [one.id, other.id, one.id]
    assert selectors.runs(one.workspace, thread_id=one.id) == [everything[0], everything[2]]
    assert selectors.runs(one.workspace, active=True) == []
    assert selectors.run(one.workspace, everything[1].id) == everything[1]


def test_messages_are_windows_of_the_log(chat: Chat) -> None:
    for text in "abcd":
        chat.post(text, kind="notice" if text == "b" else "message")
    everything = selectors.messages(chat.workspace, chat.id)
    texts = [
        each.event.content for each in everything if isinstance(each.event, core.MessagePosted)
    ]
    assert texts == list("abcd")
    seqs = [each.seq for each in everything]
    assert selectors.messages(chat.workspace, chat.id, last=2) == everything[2:]
    assert selectors.messages(chat.workspace, chat.id, limit=2) == everything[:2]
    window = selectors.messages(chat.workspace, chat.id, after_seq=seqs[0], before_seq=seqs[3])
    assert window == everything[1:3]


@pytest.mark.parametrize("read", [selectors.thread, selectors.run, selectors.messages])
def test_what_is_not_there_is_not_found(
    workspace: Workspace, read: Callable[[Workspace, str], object]
) -> None:
    with pytest.raises(core.NotFound):
        read(workspace, "xyz_none")


def test_a_hidden_thread_does_not_exist(chat: Chat) -> None:
    chat.post("Hello?")
    with hosting(Script(say("Hello."))):
        chat.run_turn()
    (run,) = chat.runs()
    ben = replace(chat.workspace, actor=BEN, access=Access(actor=BEN, role="viewer"))
    with hosting(Script(), HIDDEN=f"{__name__}.hide_everything"):
        assert selectors.threads(ben) == []
        assert selectors.runs(ben) == []
        for read, id in [
            (selectors.thread, chat.id),
            (selectors.run, run.id),
            (selectors.messages, chat.id),
        ]:
            with pytest.raises(core.NotFound):
                read(ben, id)  # type: ignore[operator]


def test_without_a_role_nothing_is_read(chat: Chat) -> None:
    nobody = replace(chat.workspace, access=Access(actor=ANA, role=None))
    with pytest.raises(core.Forbidden):
        selectors.threads(nobody)


def test_a_used_message_id_is_refused_for_good(open_chat: OpenChat) -> None:
    one, other = open_chat(), open_chat()
    used = one.post("Hello?")
    for thread_id in (one.id, other.id):
        with pytest.raises(core.InvalidState):
            one.workspace.commit(
                core.PostMessage(thread_id=thread_id, message_id=used, content="Again")
            )
    assert one.said() == ["Hello?"]
    assert other.said() == []


def test_a_thread_keeps_its_title_mode_focus_and_agent(workspace: Workspace) -> None:
    command = core.CreateThread(title="Named", agent="default")
    workspace.commit(command)
    paper = core.CreateArtifact(kind="paper", data={})
    workspace.commit(paper)
    workspace.commit(core.SetFocus(thread_id=command.thread_id, artifact_ids=(paper.artifact_id,)))
    workspace.commit(core.SetThreadMode(thread_id=command.thread_id, mode="suggest"))
    assert selectors.thread(workspace, command.thread_id) == core.Thread(
        id=command.thread_id,
        title="Named",
        mode="suggest",
        focus=(paper.artifact_id,),
        agent="default",
    )


def test_an_unknown_agent_is_refused_when_the_thread_is_opened(workspace: Workspace) -> None:
    with pytest.raises(core.ValidationFailed):
        workspace.commit(core.CreateThread(title="Named", agent="nobody"))


def test_a_used_thread_id_is_refused(chat: Chat) -> None:
    with pytest.raises(core.InvalidState):
        chat.workspace.commit(core.CreateThread(thread_id=chat.id, title="Again"))
