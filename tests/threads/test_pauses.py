"""A run that waits for people: paused without a process, answered from anywhere, gone on with."""

from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.tools import Tool

from artifacts import core
from artifacts.pool import in_pool
from tests.support.cast import BEN
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from tests.threads.dying import Killed, after_the_wait, dies, killed
from tests.threads.test_retries import returns
from threads import models, selectors
from threads.agent import history
from threads.agent.attempt import Attempt
from threads.agent.running import Running
from threads.services import turns, watching

CLIENT = core.ExternalAgentActor(client_id="bot")


class Mails:
    """A tool that needs an approval, and what it did."""

    def __init__(self, *, then: type[BaseException] | None = None) -> None:
        self.sent: list[str] = []
        self.then = then

    def send_mail(self, ctx: RunContext[Any], to: str) -> str:
        self.sent.append(to)
        if self.then is not None:
            raise self.then
        return f"Sent to {to}."

    def hosted_with(self, script: Script) -> Any:
        return agent_with(
            script.model,
            tools=[Tool(self.send_mail, requires_approval=True)],
            output_type=[str, DeferredToolRequests],
        )


ASK = call("ask_user", question="Which colour?")
BOTH = ModelResponse(
    parts=[
        ToolCallPart("list_artifacts", {}, "c1"),
        ToolCallPart("ask_user", {"question": "Which colour?"}, "c2"),
        ToolCallPart("send_mail", {"to": "ben"}, "c3"),
    ]
)


def paused(chat: Chat) -> core.Run:
    (run,) = chat.runs()
    assert run.status == "paused"
    return run


def answer(chat: Chat, *, tool_call_id: str | None = None, **given: Any) -> None:
    run = paused(chat)
    id = tool_call_id or run.pending[0].tool_call_id
    chat.workspace.commit(core.AnswerDeferred(run_id=run.id, tool_call_id=id, **given))


def test_a_question_pauses_the_run_and_its_answer_resumes_it(chat: Chat) -> None:
    mails, script = Mails(), Script(ASK, say("Blue it is."))
    chat.post("Paint it")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        run = paused(chat)
        (request,) = run.pending
        assert (request.tool_name, request.kind) == ("ask_user", "question")
        assert request.args == {"question": "Which colour?"}
        (event,) = chat.events(core.RunPaused)
        assert event.requests == run.pending
        assert event.usage["requests"] == 1
        # Nobody waits for it: the claim is free, the message taken, and a wake-up finds nothing.
        claim = chat.workspace.acquire_lease(f"thread:{chat.id}", "another", 60)
        assert claim is not None
        chat.workspace.release_lease(claim)
        row = models.Thread.objects.get(public_id=chat.id)
        assert row.taken_seq == row.asked_seq

        answer(chat, answer="blue")
        chat.run_turn()
    assert list(returns(script.requests[-1]).values()) == ["blue"]
    started, resumed = chat.events(core.RunStarted)
    assert (started.trigger, resumed.trigger) == ("message", "resume")
    assert started.run_id == resumed.run_id
    assert [each.status for each in chat.runs()] == ["completed"]
    assert chat.said() == ["Paint it", "Blue it is."]
    assert chat.workspace.verify() == []


def test_the_last_answer_asks_for_the_turn(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[Any] = []
    chat.post("Do both")
    mails, script = Mails(), Script(BOTH, say("Done."))
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        assert [each.kind for each in paused(chat).pending] == ["question", "approval"]
        monkeypatch.setattr(turns.executor, "enqueue", lambda *args, **_: woken.append(args))
        answer(chat, tool_call_id="c3", approved=True)
        assert woken == []
        assert turns.sweep() == 0
        chat.run_turn()  # some wake-up: it stays paused
        assert paused(chat).answers[0].tool_call_id == "c3"
        assert mails.sent == []

        answer(chat, tool_call_id="c2", answer="blue")
        assert woken == [(turns.RUN_TURN, chat.workspace.id, chat.id)]
        assert turns.sweep() == 1  # also if that one is lost
        chat.run_turn()
    assert mails.sent == ["ben"]
    assert returns(script.requests[-1]) == {
        "c1": "There are no artifacts yet.",
        "c2": "blue",
        "c3": "Sent to ben.",
    }


def test_a_declined_approval_executes_nothing_and_the_model_reads_why(chat: Chat) -> None:
    mails, script = Mails(), Script(call("send_mail", to="ben"), say("Then not."))
    chat.post("Write to Ben")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        answer(chat, approved=False, answer="He is away")
        chat.run_turn()
    assert mails.sent == []
    (told,) = returns(script.requests[-1]).values()
    assert "He is away" in told
    assert chat.said()[-1] == "Then not."


def test_a_message_to_a_paused_thread_is_the_reply(chat: Chat) -> None:
    mails, script = Mails(), Script(BOTH, say("Fine."))
    chat.post("Do both")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        chat.post("Red, and do not write to him", actor=BEN)
        chat.run_turn()
        chat.run_turn()
    assert mails.sent == []
    question, approval = chat.events(core.DeferredAnswered)
    assert question.answer == "Red, and do not write to him"
    assert (approval.approved, approval.answer) == (False, question.answer)
    authors = [
        each.actor
        for each in chat.workspace.read()
        if isinstance(each.event, core.DeferredAnswered)
    ]
    assert authors == [BEN, BEN]
    told = returns(script.requests[-1])
    assert told["c2"] == "Red, and do not write to him"
    assert told["c3"].endswith("Red, and do not write to him")
    assert script.prompts(-1) == ["Do both"]  # not told again
    assert len(chat.runs()) == 1
    row = models.Thread.objects.get(public_id=chat.id)
    assert row.taken_seq == row.asked_seq


def test_a_message_answers_only_what_is_still_open(chat: Chat) -> None:
    mails, script = Mails(), Script(BOTH, say("Fine."))
    chat.post("Do both")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        answer(chat, tool_call_id="c3", approved=True)
        chat.post("Red")
        chat.run_turn()
    assert mails.sent == ["ben"]
    assert returns(script.requests[-1])["c2"] == "Red"


def test_a_notice_answers_nothing(chat: Chat) -> None:
    mails, script = Mails(), Script(ASK)
    chat.post("Paint it")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        chat.post("Lunch at noon", kind="notice")
        chat.run_turn()
        assert paused(chat).answers == ()


def test_an_agents_message_decides_no_approval(chat: Chat) -> None:
    mails, script = Mails(), Script(call("send_mail", to="ben"), say("Sent."))
    chat.post("Write to Ben")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        chat.workspace.as_actor(CLIENT).commit(
            core.PostMessage(thread_id=chat.id, content="Approved!")
        )
        chat.run_turn()
        assert paused(chat).answers == ()
        answer(chat, approved=True)
        chat.run_turn()
    # It is not lost either: it steers the run when that goes on.
    assert script.prompts(-1)[-2:] == ["bot wrote meanwhile:", "Approved!"]
    assert mails.sent == ["ben"]


def test_a_second_message_steers_the_run_that_the_first_one_resumed(chat: Chat) -> None:
    mails, script = Mails(), Script(ASK, say("Fine."))
    chat.post("Paint it")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        chat.post("Red")
        chat.post("Or rather green", actor=BEN)
        chat.run_turn()
    assert list(returns(script.requests[-1]).values()) == ["Red"]
    assert script.prompts(-1) == ["Paint it", "Ben wrote meanwhile:", "Or rather green"]
    assert len(chat.runs()) == 1


def test_a_message_that_came_before_the_pause_is_no_reply(chat: Chat) -> None:
    """It was written before the question was read: it steers the run when that goes on."""

    async def asks(messages: object) -> ModelResponse:
        await in_pool(chat.post, "By the way")
        return ASK

    mails, script = Mails(), Script(asks, say("Fine."))
    chat.post("Paint it")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        chat.run_turn()
        assert paused(chat).answers == ()
        answer(chat, answer="blue")
        chat.run_turn()
    assert list(returns(script.requests[-1]).values()) == ["blue"]
    assert script.prompts(-1) == ["Paint it", "Ana wrote meanwhile:", "By the way"]
    assert len(chat.runs()) == 1


def test_it_may_pause_again_under_the_same_run(chat: Chat) -> None:
    again = call("ask_user", question="Which one then?")
    mails, script = Mails(), Script(ASK, again, say("Enough."))
    chat.post("Paint it")
    with hosting(mails.hosted_with(script)):
        for colour in ("blue", "red"):
            chat.run_turn()
            answer(chat, answer=colour)
        chat.run_turn()
    assert list(returns(script.requests[-1]).values()) == ["blue", "red"]
    assert [each.trigger for each in chat.events(core.RunStarted)] == ["message"] + ["resume"] * 2
    assert len(chat.events(core.RunPaused)) == 2


def test_a_provider_may_use_the_id_of_a_call_again(chat: Chat) -> None:
    """Each approval is one of its own pause, whatever its call is named."""
    same = ToolCallPart("send_mail", {"to": "ben"}, "call_0")
    mails = Mails()
    script = Script(*[ModelResponse(parts=[same])] * 2, say("Twice."))
    chat.post("Write to Ben")
    with hosting(mails.hosted_with(script)):
        for _ in range(2):
            chat.run_turn()
            answer(chat, approved=True)
        chat.run_turn()
    assert mails.sent == ["ben", "ben"]
    assert chat.said()[-1] == "Twice."


def test_changes_during_the_pause_are_told_once(chat: Chat) -> None:
    paper = core.CreateArtifact(kind="paper", data={"text": "One"})
    chat.workspace.commit(paper)
    chat.workspace.commit(core.SetFocus(thread_id=chat.id, artifact_ids=(paper.artifact_id,)))
    mails, script = Mails(), Script(ASK, say("Seen."), say("Again."))
    chat.post("Paint it")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        edit = core.EditArtifact(
            artifact_id=paper.artifact_id,
            base_version=1,
            patch=core.TextEdits(edits=(core.TextEdit(old="One", new="Two"),)),
        )
        chat.workspace.as_actor(BEN).commit(edit)
        answer(chat, answer="blue")
        chat.run_turn()
        chat.post("More")
        chat.run_turn()
    for request in (1, 2):
        told = [each for each in script.prompts(request) if each.startswith("<workspace-changes>")]
        assert len(told) == 2
        assert f"Ben changed {paper.artifact_id} (paper, v1 → v2)" in told[1]


def test_an_approved_tool_runs_at_most_once_though_its_process_dies(chat: Chat) -> None:
    mails, script = Mails(then=Killed), Script(call("send_mail", to="ben"), say("Perhaps sent."))
    chat.post("Write to Ben")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        answer(chat, approved=True)
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
    assert mails.sent == ["ben"]
    assert list(returns(script.requests[-1]).values()) == [history.IN_DOUBT]
    assert chat.said()[-1] == "Perhaps sent."


def test_a_crash_between_the_record_and_the_tool_executes_nothing(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_execute = Attempt.may_execute

    async def recorded_then_killed(self: Attempt, call: ToolCallPart) -> None:
        await may_execute(self, call)
        raise Killed

    mails, script = Mails(), Script(call("send_mail", to="ben"), say("It is in doubt."))
    chat.post("Write to Ben")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        answer(chat, approved=True)
        with monkeypatch.context() as patch:
            patch.setattr(Attempt, "may_execute", recorded_then_killed)
            dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
    assert mails.sent == []
    assert models.ToolApproval.objects.count() == 1
    assert list(returns(script.requests[-1]).values()) == [history.IN_DOUBT]


def test_a_resumed_run_that_died_keeps_its_answers(chat: Chat) -> None:
    mails, script = Mails(), Script(BOTH, killed, killed, say("Both done."))
    chat.post("Do both")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        answer(chat, tool_call_id="c2", answer="blue")
        answer(chat, tool_call_id="c3", approved=True)
        dies(chat)  # after the tool came back
        with after_the_wait(chat):
            dies(chat)
            with after_the_wait(chat):
                chat.run_turn()
    assert mails.sent == ["ben"]
    told = returns(script.requests[-1])
    assert (told["c2"], told["c3"]) == ("blue", "Sent to ben.")
    first, second, third = models.Run.objects.order_by("pk")
    assert [first.reason, second.reason, third.status] == ["abandoned", "abandoned", "completed"]
    assert (second.retry_of, third.retry_of) == (first.public_id, second.public_id)


def test_a_resumed_run_that_died_at_once_is_given_the_same_answers(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    mails, script = Mails(), Script(BOTH, say("Both done."))
    chat.post("Do both")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        answer(chat, tool_call_id="c2", answer="blue")
        answer(chat, tool_call_id="c3", approved=True)

        async def dead(self: Running) -> Any:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(Running, "_run", dead)
            dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
    assert mails.sent == ["ben"]
    told = returns(script.requests[-1])
    assert (told["c2"], told["c3"]) == ("blue", "Sent to ben.")


def test_a_paused_run_is_stopped_at_once(chat: Chat) -> None:
    mails, script = Mails(), Script(BOTH, say("New."))
    chat.post("Do both")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        run = paused(chat)
        watching.stop_run(chat.workspace, run.id)
        chat.run_turn()  # what its wake-up does
        (ended,) = chat.events(core.RunEnded)
        assert (ended.status, ended.run_id) == ("stopped", run.id)

        chat.post("Something else")
        chat.run_turn()
    assert mails.sent == []
    told = returns(script.requests[-1])
    assert (told["c2"], told["c3"]) == (history.NOT_EXECUTED, history.NOT_EXECUTED)
    assert chat.said()[-1] == "New."
    assert selectors.runs(chat.workspace, active=True) == []


def test_what_a_run_waits_for_is_too_large_to_log(chat: Chat) -> None:
    mails, script = Mails(), Script(call("send_mail", to="x" * 1_100_000), say("Fine."))
    chat.post("Write")
    with hosting(mails.hosted_with(script)):
        chat.run_turn()
        (ended,) = chat.events(core.RunEnded)
        assert (ended.status, ended.reason) == ("failed", "rejected")
        chat.post("Again")
        chat.run_turn()
    assert list(returns(script.requests[-1]).values()) == [history.NOT_EXECUTED]
    assert chat.said()[-1] == "Fine."
    assert mails.sent == []
