"""A thread whose agent runs on a recipe: its turns bind uses, and feedback on them teaches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelRequest

from artifacts import clock, core
from artifacts.models import Event
from artifacts.workspace import Workspace, open_workspace
from feedback.models import ArtifactUse
from feedback.services import expiry, turns, uses
from learning.models import Record
from tests.support.cast import ANA, BEN, make_workspace
from tests.support.models import Script, agent_with, call, hosting, say
from tests.support.skilled import ADA, RECIPE, SKILL, make_skilled, put_skill, signals_in
from tests.threads.conftest import Chat
from threads.agent import Hosted, Session


def task_of(session: Session[Any]) -> dict[str, Any]:
    return {"entity": ADA, "task": f"Answer in {session.thread_id}."}


def on_recipe(script: Script, recipe: str | None = RECIPE, **agent: Any) -> Hosted:
    agent.setdefault("instructions", "Be brief.")
    return Hosted(agent_with(script.model, **agent), recipe=recipe, parameters=task_of)


def told(script: Script, request: int = 0) -> str:
    """The instructions that a request to the model carried."""
    last = script.requests[request][-1]
    assert isinstance(last, ModelRequest)
    assert last.instructions is not None
    return last.instructions


@pytest.fixture
def chat(transactional_db: None) -> Chat:
    workspace = make_skilled(open_workspace(make_workspace().public_id, actor=ANA))
    command = core.CreateThread(title="A chat")
    workspace.commit(command)
    return Chat(workspace, command.thread_id)


@pytest.fixture
def answered(chat: Chat) -> Chat:
    """After one turn on the recipe."""
    chat.post("Where is my refund?")
    with hosting(on_recipe(Script(say("It was paid.")))):
        chat.run_turn()
    return chat


def judge(
    workspace: Workspace, target: Any, *, up: bool = False, comment: str | None = None
) -> None:
    value = {"up": up, "comment": comment}
    workspace.commit(core.GiveFeedback(feedback_type="thumbs", target=target, value=value))


def run_of(chat: Chat) -> str:
    return chat.runs()[-1].id


def reply_of(chat: Chat) -> core.MessagePosted:
    reply: core.MessagePosted = chat.events(core.MessagePosted)[-1]
    assert reply.run_id is not None
    return reply


def test_the_agent_is_told_the_rendered_recipe_besides_its_own_instructions(chat: Chat) -> None:
    script = Script(say("It is pending."))
    chat.post("Where is my refund?")
    with hosting(on_recipe(script)):
        chat.run_turn()

    assert "Be brief." in told(script)
    assert SKILL["steps"] in told(script)
    assert f"The task: Answer in {chat.id}." in told(script)
    use = turns.use_of_run(chat.workspace.pk, chat.id, run_of(chat))
    assert use is not None
    info = uses.use(chat.workspace, use.public_id)
    assert info.artifact["name"] == RECIPE
    assert info.learning_target is not None
    assert info.learning_target["entity"] == ADA
    assert chat.workspace.verify() == []


def test_an_agent_without_a_recipe_binds_nothing(chat: Chat) -> None:
    script = Script(say("Hello."))
    chat.post("Hello?")
    with hosting(on_recipe(script, recipe=None)):
        chat.run_turn()
    assert "Be brief." in told(script)
    assert SKILL["steps"] not in told(script)
    assert not ArtifactUse.objects.exists()
    judge(chat.workspace, core.TurnTarget(run_id=run_of(chat)))
    assert signals_in(chat.workspace) == []


@pytest.mark.parametrize(
    ("recipe", "parameters", "code"),
    [
        ("no_such_recipe", task_of, "artifact_not_found"),
        (RECIPE, lambda session: {"entity": ADA}, "artifact_parameter"),
    ],
)
def test_a_recipe_that_is_not_rendered_fails_the_run_and_says_why(
    chat: Chat, recipe: str, parameters: Any, code: str
) -> None:
    script = Script()
    chat.post("Where is my refund?")
    with hosting(Hosted(agent_with(script.model), recipe=recipe, parameters=parameters)):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "recipe_refused")
    assert code in ended.error
    assert script.requests == []
    assert not ArtifactUse.objects.exists()


def test_parameters_that_cannot_be_made_fail_the_run_without_a_word_of_why(chat: Chat) -> None:
    def broken(session: Session[Any]) -> dict[str, Any]:
        raise RuntimeError("the secret of the host")

    chat.post("Where is my refund?")
    with hosting(Hosted(agent_with(Script().model), recipe=RECIPE, parameters=broken)):
        chat.run_turn()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "internal_error")
    assert "secret" not in ended.error


def test_feedback_on_the_turn_is_a_signal_on_its_use(answered: Chat) -> None:
    judge(answered.workspace, core.TurnTarget(run_id=run_of(answered)), comment="It was not.")

    (signal,) = signals_in(answered.workspace)
    use = turns.use_of_run(answered.workspace.pk, answered.id, run_of(answered))
    assert use is not None
    assert signal["content"]["artifact_use"]["id"] == use.public_id
    assert signal["content"]["signal"] == {"kind": "thumbs_down", "source": "end_user"}
    assert signal["content"]["evidence"] == {"comment": "It was not."}
    assert signal["entity"] == "artifact:maintained_skill"
    assert signal["actor"] == ANA.wire()
    assert [each.id for each in uses.signals(answered.workspace, use.public_id)] == [signal["id"]]


@pytest.mark.parametrize("names_run", [True, False])
def test_feedback_on_a_message_is_a_signal_on_the_use_of_its_run(
    answered: Chat, names_run: bool
) -> None:
    reply = reply_of(answered)
    target = core.MessageTarget(
        message_id=reply.message_id,
        thread_id=answered.id,
        run_id=reply.run_id if names_run else None,
    )
    answered.workspace.as_actor(BEN).commit(
        core.GiveFeedback(
            feedback_type="correction", target=target, value={"expected": "It is pending."}
        )
    )
    (signal,) = signals_in(answered.workspace)
    assert signal["type"] == "correction"
    assert signal["content"]["signal"] == {"kind": "correction", "source": "operator"}
    assert signal["content"]["evidence"] == {"expected": "It is pending."}


def test_feedback_on_what_ran_on_no_use_is_no_signal(answered: Chat) -> None:
    asked = answered.events(core.MessagePosted)[0]
    own = core.MessageTarget(message_id=asked.message_id, thread_id=answered.id)
    for target in (own, core.ThreadTarget(thread_id=answered.id)):
        judge(answered.workspace, target)
    assert len(answered.events(core.FeedbackGiven)) == 2
    assert signals_in(answered.workspace) == []


def test_an_evaluators_verdict_is_the_same_signal_from_another_source(answered: Chat) -> None:
    judge_actor = core.EvaluatorActor(name="tone", version="3")
    target = core.TurnTarget(run_id=run_of(answered))
    judge(answered.workspace, target)
    judge(answered.workspace.as_actor(judge_actor), target)
    by_person, by_evaluator = signals_in(answered.workspace)
    assert by_evaluator["content"]["signal"] == {"kind": "thumbs_down", "source": "evaluator"}
    assert by_evaluator["actor"] == judge_actor.wire()
    assert by_person["content"]["evidence"] == by_evaluator["content"]["evidence"]


def test_a_repeated_command_is_one_feedback_and_one_signal(answered: Chat) -> None:
    command = core.GiveFeedback(
        feedback_type="thumbs", target=core.TurnTarget(run_id=run_of(answered)), value={"up": True}
    )
    for _ in range(3):
        answered.workspace.commit(command, command_id="cmd_once")
    assert len(answered.events(core.FeedbackGiven)) == 1
    assert [each["type"] for each in signals_in(answered.workspace)] == ["thumbs_up"]


def test_equal_feedback_that_is_given_twice_is_two_signals(answered: Chat) -> None:
    target = core.TurnTarget(run_id=run_of(answered))
    for _ in range(2):
        judge(answered.workspace, target, up=True)
    assert len(signals_in(answered.workspace)) == 2


def test_event_and_signal_are_both_written_or_neither(
    answered: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something breaks after the signal: the feedback goes back with it."""
    head, kept = answered.workspace.head_seq(), turns.keep_signal

    def broken(*args: Any, **kwargs: Any) -> None:
        kept(*args, **kwargs)
        assert Record.objects.filter(collection="learning_signals").exists()
        raise RuntimeError("after the signal")

    monkeypatch.setattr(turns, "keep_signal", broken)
    with pytest.raises(RuntimeError, match="after the signal"):
        judge(answered.workspace, core.TurnTarget(run_id=run_of(answered)))
    assert answered.workspace.head_seq() == head
    assert signals_in(answered.workspace) == []

    monkeypatch.undo()
    judge(answered.workspace, core.TurnTarget(run_id=run_of(answered)))
    assert answered.workspace.head_seq() == head + 1
    assert len(signals_in(answered.workspace)) == 1


def test_feedback_on_an_expired_use_stands_and_is_no_signal(answered: Chat) -> None:
    target = core.TurnTarget(run_id=run_of(answered))
    with clock.moved(timedelta(days=91)):
        judge(answered.workspace, target)
    assert len(answered.events(core.FeedbackGiven)) == 1
    assert signals_in(answered.workspace) == []


def test_feedback_on_a_purged_use_stands_and_is_no_signal(answered: Chat) -> None:
    with clock.moved(timedelta(days=91)):
        expiry.purge_expired()
    assert not ArtifactUse.objects.exists()
    judge(answered.workspace, core.TurnTarget(run_id=run_of(answered)))
    assert len(answered.events(core.FeedbackGiven)) == 1
    assert signals_in(answered.workspace) == []


class Mood(core.Feedback, targets={"turn", "message"}):
    """A host's type that says nothing of what a turn ran on."""

    word: str


class Verdict(core.Feedback, targets={"turn"}):
    """A host's type with a mapping of its own; some of what it says is no signal."""

    score: float
    kind: str = "evaluation"
    breaks: bool = False

    def to_signal(self) -> dict[str, Any]:
        if self.breaks:
            raise RuntimeError("no mapping today")
        return {"kind": self.kind, "score": self.score, "label": "tone", "source": "application"}


def test_a_type_without_a_mapping_makes_no_signal(answered: Chat) -> None:
    target = core.TurnTarget(run_id=run_of(answered))
    command = core.GiveFeedback(feedback_type="mood", target=target, value={"word": "glad"})
    answered.workspace.commit(command)
    assert signals_in(answered.workspace) == []


def test_a_hosts_type_says_itself_which_signal_it_is(answered: Chat) -> None:
    target = core.TurnTarget(run_id=run_of(answered))
    command = core.GiveFeedback(feedback_type="verdict", target=target, value={"score": 0.25})
    answered.workspace.commit(command)
    (signal,) = signals_in(answered.workspace)
    assert signal["content"]["signal"] == {
        "kind": "evaluation", "source": "application", "score": 0.25, "label": "tone",
    }  # fmt: skip


@pytest.mark.parametrize(
    "value", [{"score": 7}, {"score": 0.5, "kind": "applause"}, {"score": 1, "breaks": True}]
)
def test_feedback_whose_mapping_gives_no_signal_stands(
    answered: Chat, value: dict[str, Any]
) -> None:
    target = core.TurnTarget(run_id=run_of(answered))
    answered.workspace.commit(
        core.GiveFeedback(feedback_type="verdict", target=target, value=value)
    )
    assert len(answered.events(core.FeedbackGiven)) == 1
    assert signals_in(answered.workspace) == []


def test_feedback_stands_where_the_catalog_has_no_signals(answered: Chat) -> None:
    """The collection is taken out of force between the turn and the feedback."""
    from learning.models import ActiveDefinition

    ActiveDefinition.objects.filter(name="learning_signals").delete()
    judge(answered.workspace, core.TurnTarget(run_id=run_of(answered)))
    assert len(answered.events(core.FeedbackGiven)) == 1
    assert not Record.objects.filter(collection="learning_signals").exists()


def test_a_run_that_goes_on_is_told_the_skill_of_today_and_judged_by_it(chat: Chat) -> None:
    script = Script(call("ask_user", question="Which order?"), say("It is pending."))
    hosted = on_recipe(script, output_type=[str, DeferredToolRequests])
    chat.post("Where is my refund?")
    with hosting(hosted):
        chat.run_turn()
        put_skill(chat.workspace, {"steps": "Ask for the order number first."})
        chat.post("Order 17.")
        chat.run_turn()

    (run,) = chat.runs()
    assert run.status == "completed"
    assert SKILL["steps"] in told(script, 0)
    assert "Ask for the order number first." in told(script, 1)
    assert SKILL["steps"] not in told(script, 1)
    first, second = ArtifactUse.objects.order_by("pk")
    assert first.render_sha256 != second.render_sha256
    judge(chat.workspace, core.TurnTarget(run_id=run.id), up=True)
    (signal,) = signals_in(chat.workspace)
    assert signal["content"]["artifact_use"]["id"] == second.public_id


def test_a_message_is_judged_by_the_text_it_was_said_on(chat: Chat) -> None:
    """The run goes on with another text after its first message."""
    asking = call("ask_user", question="Which order?")
    script = Script(asking, say("It is pending."))
    chat.post("Where is my refund?")
    with hosting(on_recipe(script, output_type=[str, DeferredToolRequests])):
        chat.run_turn()
        (run,) = chat.runs()
        agent = chat.workspace.as_actor(core.AgentActor(thread_id=chat.id, run_id=run.id))
        early = core.PostMessage(thread_id=chat.id, content="One moment.")
        agent.commit(early)
        put_skill(chat.workspace, {"steps": "Ask for the order number first."})
        chat.post("Order 17.")
        chat.run_turn()
    first, second = ArtifactUse.objects.order_by("pk")
    for message_id, run_id, use in (
        (early.message_id, None, first),
        (early.message_id, run.id, first),
        (reply_of(chat).message_id, None, second),
    ):
        target = core.MessageTarget(message_id=message_id, thread_id=chat.id, run_id=run_id)
        judge(chat.workspace, target)
        assert signals_in(chat.workspace)[-1]["content"]["artifact_use"]["id"] == use.public_id


def test_a_message_is_found_by_its_index_however_many_there_are(answered: Chat) -> None:
    """The statements that read messages' texts are none."""
    reply = reply_of(answered)
    with CaptureQueriesContext(connection) as asked:
        use = turns.use_of_message(answered.workspace.pk, reply.message_id)
    assert use is not None
    [statement] = asked.captured_queries
    assert "artifactr_event" not in statement["sql"]
    plan = explained(statement["sql"])
    index = {"sqlite": "artifactr_feedback_usemessage USING INDEX"}
    assert index.get(connection.vendor, "artifactr_feedback_message_once") in plan


def explained(sql: str) -> str:
    """How the database would carry a statement out, were its tables large."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET enable_seqscan = off")
            try:
                cursor.execute(f"EXPLAIN {sql}")
                rows = cursor.fetchall()
            finally:
                cursor.execute("RESET enable_seqscan")
        else:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            rows = cursor.fetchall()
    return "\n".join(str(row) for row in rows)


def test_two_threads_have_uses_of_their_own(chat: Chat) -> None:
    other = core.CreateThread(title="Another")
    chat.workspace.commit(other)
    both = [chat, Chat(chat.workspace, other.thread_id)]
    for each in both:
        each.post("Where is my refund?")
        with hosting(on_recipe(Script(say("It was paid.")))):
            each.run_turn()
    judge(chat.workspace, core.TurnTarget(run_id=run_of(both[1])))
    (signal,) = signals_in(chat.workspace)
    use = turns.use_of_run(chat.workspace.pk, both[1].id, run_of(both[1]))
    assert use is not None
    assert signal["content"]["artifact_use"]["id"] == use.public_id
    assert ArtifactUse.objects.count() == 2


def test_the_log_tells_of_the_feedback_and_not_of_the_use(answered: Chat) -> None:
    """What was rendered is the use's business: no event names it or holds its text."""
    judge(answered.workspace, core.TurnTarget(run_id=run_of(answered)))
    (use,) = ArtifactUse.objects.all()
    texts = Event.objects.filter(workspace=answered.workspace.pk, thread_id=answered.id)
    for text in texts.values_list("text", flat=True):
        assert use.public_id not in text
        assert SKILL["steps"] not in text
