"""`manage.py chat`: a thread from a terminal, through the doors of every other surface."""

from __future__ import annotations

import os
import signal
import threading
from io import StringIO
from typing import Any, TypeVar

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from artifacts import core, models
from artifacts.surfaces.authentication import actor_for_user
from artifacts.workspace import Workspace, open_workspace
from tests.support.builders import edit_text, make_artifact, make_proposal
from tests.support.cast import make_workspace
from tests.support.kinds import Paper
from tests.support.models import Gate, Script, call, hosting, say
from threads.management.chat.screen import Screen, plain

E = TypeVar("E")
SECONDS = 120


def once(workspace: Workspace, text: str, **options: Any) -> tuple[str, str]:
    """What one line gave, on both outputs."""
    out, aside = StringIO(), StringIO()
    call_command(
        "chat", workspace.id, once=text, timeout=SECONDS, stdout=out, stderr=aside, **options
    )
    return out.getvalue(), aside.getvalue()


def typed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *lines: str, **options: Any
) -> str:
    """A whole conversation through a pipe."""
    monkeypatch.setattr("sys.stdin", StringIO("".join(f"{line}\n" for line in lines)))
    out = StringIO()
    call_command("chat", workspace.id, stdout=out, **options)
    return out.getvalue()


def logged(workspace: Workspace, kind: type[E]) -> list[E]:
    """The events of one type."""
    return [each.event for each in workspace.read() if isinstance(each.event, kind)]


def test_once_prints_the_reply_alone(ana: Workspace) -> None:
    with hosting(Script(call("list_artifacts"), say("Nothing yet.")), EXECUTOR="threads"):
        out, aside = once(ana, "What is there?")
    assert out == "Nothing yet.\n"
    assert "list_artifacts" in aside
    said = [each.content for each in logged(ana, core.MessagePosted)]
    assert said == ["What is there?", "Nothing yet."]


def test_once_tells_by_its_code_that_nothing_came(ana: Workspace) -> None:
    def broken(messages: Any) -> Any:
        raise RuntimeError("no model today")

    with (
        hosting(Script(broken), EXECUTOR="threads"),
        pytest.raises(CommandError, match="did not answer") as told,
    ):
        once(ana, "Hello?")
    assert told.value.returncode == 1


def test_once_does_not_wait_for_ever(ana: Workspace) -> None:
    with pytest.raises(CommandError, match="within 1 seconds") as told:
        call_command("chat", ana.id, once="Hello?", timeout=1.0, stdout=StringIO())
    assert told.value.returncode == 4


def test_a_conversation_through_a_pipe(ana: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with hosting(Script(say("First."), say("Second.")), EXECUTOR="threads"):
        out = typed(ana, monkeypatch, "one", "two")
    assert out.index("First.") < out.index("Second.")
    assert out.count("First.") == 1


def test_proposals_are_shown_and_decided(ana: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = make_artifact(ana, Paper(text="one\ntwo"))
    agent = ana.as_actor(core.AgentActor(thread_id="thr_1"))
    keep = make_proposal(agent, edit_text(paper, 1, "one", "1", thread_id="thr_1"))
    drop = make_proposal(agent, edit_text(paper, 1, "two", "2", thread_id="thr_1"))
    out = typed(ana, monkeypatch, "/accept 1", "/reject too early", "/accept", "/proposals")
    assert "    -one" in out
    assert "    +1" in out
    assert ana.proposal(keep).status == "accepted"
    assert ana.proposal(drop).status == "rejected"
    assert "Refused: no such proposal waits" in out
    assert "Nothing waits for a decision." in out
    reasons = [each.reason for each in logged(ana, core.ProposalResolved)]
    assert reasons == [None, "too early"]


def test_questions_and_approvals_are_answered(
    ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = ana.as_actor(core.AgentActor(thread_id="thr_1", run_id="run_1"))
    agent.record(core.RunStarted(run_id="run_1", thread_id="thr_1"))
    agent.record(core.RunPaused(run_id="run_1", thread_id="thr_1", requests=REQUESTS))
    out = typed(ana, monkeypatch, "2", "perhaps", "n not \x1b[2Jtoday", "/quit")
    assert "Who hears of it?" in out
    assert "    2  Some" in out
    assert '    metadata: {"cost": 300}' in out
    assert "Type y or n" in out
    answers = logged(ana, core.DeferredAnswered)
    assert [(each.answer, each.approved) for each in answers] == [
        ("Some", None),
        ("not \x1b[2Jtoday", False),
    ]


REQUESTS = (
    core.DeferredRequest(
        tool_call_id="q1", tool_name="ask_user", kind="question",
        args={"question": "Who hears of it?", "choices": ["All", "Some"]},
    ),
    core.DeferredRequest(
        tool_call_id="a1", tool_name="send", kind="approval", args={"to": "all\x1b]0;owned\x07"},
        metadata={"cost": 300},
    ),
    core.DeferredRequest(tool_call_id="q2", tool_name="ask_user", kind="question", args={}),
)  # fmt: skip


def test_what_others_wrote_cannot_steer_the_terminal() -> None:
    shown: list[str] = []
    screen = Screen(shown.append)
    screen.request(REQUESTS[1])
    screen.piece("a\x1b[31mb\x07\x9b1m\u202e")
    text = "".join(shown)
    assert "all]0;owned" in text
    assert not any(each in text for each in "\x1b\x07\x9b\u202e")
    assert plain("tab\tand\nline") == "tab\tand\nline"


def test_stop_and_mode(ana: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    out = typed(ana, monkeypatch, "/mode suggest", "/mode loud", "/stop", "/dance", "/help")
    assert "The agent is in suggest mode." in out
    assert "is suggest or edit" in out
    assert "Nothing goes on." in out
    assert "There is no /dance" in out
    assert "/accept" in out


def test_ctrl_c_stops_the_agent_and_the_conversation_goes_on(
    ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(say("Never said."))

    def interrupt() -> None:
        assert gate.reached.wait(SECONDS), "the turn did not begin"
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=interrupt)
    presser.start()
    with hosting(Script(gate, say("Here again.")), EXECUTOR="threads"):
        try:
            out = typed(ana, monkeypatch, "Begin", "Are you there?")
        finally:
            gate.opened.set()
            presser.join(SECONDS)
    assert "Ctrl-C again leaves" in out
    assert "run stopped" in out
    assert "Here again." in out
    assert "Never said." not in out


def test_it_says_who_may_talk_and_where(ana: Workspace) -> None:
    for arguments, said in [
        (("wsp_none",), "no workspace of that id"),
        ((ana.id, "--user", "nobody"), "no user 'nobody'"),
        ((ana.id, "--thread", "thr_none", "--once", "x"), "no thread with this id"),
    ]:
        with pytest.raises(CommandError, match=said):
            call_command("chat", *arguments, stdout=StringIO())
    stranger = get_user_model()._default_manager.create_user("sam")
    with pytest.raises(CommandError, match="reaches no workspace"):
        call_command("chat", ana.id, user="sam", stdout=StringIO())
    row = models.Workspace.objects.get(public_id=ana.id)
    models.Membership.objects.create(workspace=row, user=stranger, role="viewer")
    with pytest.raises(CommandError, match="--user, such as: ana, sam"):
        call_command("chat", ana.id, stdout=StringIO())
    with pytest.raises(CommandError, match="editor"):
        call_command("chat", ana.id, user="sam", once="x", stdout=StringIO())


def test_a_workspace_without_a_chat_gets_one(
    ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = make_workspace("empty")
    user = get_user_model()._default_manager.get(username="ana")
    models.Membership.objects.create(workspace=row, user=user, role="editor")
    empty = open_workspace(row.public_id, actor=actor_for_user(user))
    assert "Chat (thr_" in typed(empty, monkeypatch)
    assert [each.event.type for each in empty.read()] == ["thread_created"]
