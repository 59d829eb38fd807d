"""What an agent follows joins a focus that people and other tools change at the same time."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from artifacts import core
from tests.support.racing import PATIENCE, together
from tests.threads.conftest import Chat
from threads import selectors
from threads.agent.focus import follow

AT_ONCE = 6


@pytest.fixture
def papers(chat: Chat) -> list[str]:
    made = [core.CreateArtifact(kind="paper", data={"text": "x"}) for _ in range(AT_ONCE)]
    chat.workspace.commit_all(made)
    return [each.artifact_id for each in made]


def read_then_set(chat: Chat, papers: list[str]) -> Callable[[int], None]:
    """The control: every one reads before the first one writes."""
    have_read = threading.Barrier(AT_ONCE)

    def follow_naively(number: int) -> None:
        focus = selectors.thread(chat.workspace, chat.id).focus
        have_read.wait(PATIENCE)
        both = (*focus, papers[number])
        chat.workspace.commit(core.SetFocus(thread_id=chat.id, artifact_ids=both))

    return follow_naively


def test_nothing_is_lost_when_many_follow_at_once(chat: Chat, papers: list[str]) -> None:
    together(AT_ONCE, lambda number: follow(chat.workspace, chat.id, papers[number]))
    assert sorted(selectors.thread(chat.workspace, chat.id).focus) == sorted(papers)


def test_reading_and_then_setting_loses(chat: Chat, papers: list[str]) -> None:
    together(AT_ONCE, read_then_set(chat, papers))
    assert len(selectors.thread(chat.workspace, chat.id).focus) == 1


def test_what_a_person_took_away_meanwhile_stays_away(
    chat: Chat, papers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person's change lands between the agent's look at the focus and its own change of it."""
    first, second, third = papers[:3]
    chat.workspace.commit(core.SetFocus(thread_id=chat.id, artifact_ids=(first,)))
    before = selectors.thread(chat.workspace, chat.id)
    chat.workspace.commit(core.SetFocus(thread_id=chat.id, artifact_ids=(second,)))
    read, looks = selectors.thread, [before]

    def stale_once(*args: object) -> core.Thread:
        return looks.pop() if looks else read(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(selectors, "thread", stale_once)
    follow(chat.workspace, chat.id, third)
    assert read(chat.workspace, chat.id).focus == (second, third)


def test_a_full_focus_stays_as_people_chose_it(
    chat: Chat, papers: list[str], settings: Any
) -> None:
    settings.ARTIFACTR = {**settings.ARTIFACTR, "LIMITS": {"focus_artifacts": 2}}
    for paper in papers[:3]:
        follow(chat.workspace, chat.id, paper)
    assert selectors.thread(chat.workspace, chat.id).focus == tuple(papers[:2])
    assert len(chat.events(core.FocusChanged)) == 2


def test_following_again_writes_nothing(chat: Chat, papers: list[str]) -> None:
    follow(chat.workspace, chat.id, papers[0])
    head = chat.workspace.head_seq()
    follow(chat.workspace, chat.id, papers[0])
    assert chat.workspace.head_seq() == head
