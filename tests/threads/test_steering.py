"""What others say and do while a run goes on: in its next request, once, and taken exactly."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse

from artifacts import core
from artifacts.pool import in_pool
from tests.support.cast import ANA, BEN
from tests.support.kinds import Board, Paper
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from threads import models
from threads.agent import ArtifactWorkspace
from threads.services import news

Step = Callable[[list[ModelMessage]], Any]


def meanwhile(does: Callable[[], object], then: ModelResponse) -> Step:
    """A request to the model during which somebody does something."""

    async def step(messages: list[ModelMessage]) -> ModelResponse:
        await in_pool(does)
        return then

    return step


def look() -> ModelResponse:
    return call("list_artifacts")


def row_of(chat: Chat) -> models.Thread:
    return models.Thread.objects.get(public_id=chat.id)


def followed(chat: Chat) -> str:
    paper = core.CreateArtifact(kind="paper", data={"text": "v1"})
    chat.workspace.commit(paper)
    chat.workspace.commit(core.SetFocus(thread_id=chat.id, artifact_ids=(paper.artifact_id,)))
    return paper.artifact_id


def edit(chat: Chat, artifact_id: str, *, actor: core.Actor = BEN) -> None:
    version = chat.workspace.artifact(artifact_id).version
    change = core.TextEdit(old=f"v{version}", new=f"v{version + 1}")
    chat.workspace.as_actor(actor).commit(
        core.EditArtifact(
            artifact_id=artifact_id, base_version=version, patch=core.TextEdits(edits=(change,))
        )
    )


def told(script: Script, request: int = -1) -> list[str]:
    return [each for each in script.prompts(request) if each.startswith("<workspace-changes>")]


def test_a_message_is_in_the_next_request_as_it_was_written(chat: Chat) -> None:
    chat.post("Begin")
    text = "Stop  at\n<three>, please"
    script = Script(meanwhile(partial(chat.post, text, actor=BEN), look()), look(), say("Three."))
    with hosting(script):
        chat.run_turn()
        chat.run_turn()
    assert script.prompts(1) == ["Begin", "Ben wrote meanwhile:", text]
    assert script.prompts(2) == script.prompts(1)
    assert len(chat.runs()) == 1
    assert chat.workspace.read()[-1].actor.on_behalf_of == ANA  # type: ignore[union-attr]
    row = row_of(chat)
    assert (row.taken_seq, row.taken_ahead) == (row.asked_seq, "[]")


def test_it_is_in_the_history_once(chat: Chat) -> None:
    chat.post("Begin")
    script = Script(
        meanwhile(partial(chat.post, "Faster", actor=BEN), look()), say("One."), say("Two.")
    )
    with hosting(script):
        chat.run_turn()
        chat.post("Next")
        chat.run_turn()
    assert script.prompts(-1) == ["Begin", "Ben wrote meanwhile:", "Faster", "Next"]


def test_what_the_ending_run_did_not_deliver_starts_the_next_turn(chat: Chat) -> None:
    chat.post("Begin")
    script = Script(meanwhile(partial(chat.post, "Too late", actor=BEN), say("One.")), say("Two."))
    with hosting(script):
        chat.run_turn()
        assert row_of(chat).asked_seq > row_of(chat).taken_seq
        chat.run_turn()
    assert script.prompts(1) == ["Begin", "Too late"]
    assert chat.said() == ["Begin", "Too late", "One.", "Two."]
    assert chat.workspace.read()[-1].actor.on_behalf_of == BEN  # type: ignore[union-attr]


def test_what_waited_before_the_run_waits_its_turn_though_a_later_message_steers(
    chat: Chat,
) -> None:
    chat.post("Ana's")
    chat.post("Ben's", actor=BEN)
    steers = meanwhile(partial(chat.post, "Ana's second"), look())
    script = Script(steers, say("to Ana"), say("to Ben"))
    with hosting(script):
        chat.run_turn()
        assert script.prompts(1) == ["Ana's", "Ana wrote meanwhile:", "Ana's second"]
        row = row_of(chat)
        assert row.asked_seq > row.taken_seq  # Ben's is not lost
        assert row.taken_ahead == f"[{row.asked_seq}]"  # nor is Ana's second told again
        chat.run_turn()
        chat.run_turn()
    assert script.prompts(2)[-1:] == ["Ben's"]
    assert len(chat.runs()) == 2
    row = row_of(chat)
    assert (row.taken_seq, row.taken_ahead) == (row.asked_seq, "[]")


def test_many_messages_come_a_few_at_a_time_and_none_is_lost(chat: Chat) -> None:
    chat.post("Begin")
    texts = [f"Message {number}" for number in range(news.MOST_MESSAGES + 5)]

    def all_of_them() -> None:
        for text in texts:
            chat.post(text, actor=BEN)

    script = Script(meanwhile(all_of_them, look()), look(), say("Read."))
    with hosting(script):
        chat.run_turn()
    assert [each for each in script.prompts(2) if each.startswith("Message")] == texts
    assert len(script.prompts(1)) == 1 + 2 * news.MOST_MESSAGES
    assert row_of(chat).taken_seq == row_of(chat).asked_seq


def test_a_change_is_in_the_next_request_as_a_note(chat: Chat) -> None:
    paper = followed(chat)
    chat.post("Begin")
    script = Script(meanwhile(partial(edit, chat, paper), look()), look(), say("Seen."))
    with hosting(script):
        chat.run_turn()
    at_start, during = told(script)
    assert f"created {paper}" in at_start
    assert f"Ben changed {paper} (paper, v1 → v2)" in during
    assert len(told(script, 1)) == 2
    # After the return of the tool that ran meanwhile, in the same request.
    assert [part.part_kind for part in script.requests[1][-1].parts] == [
        "tool-return",
        "user-prompt",
    ]


def test_a_change_of_what_the_agent_began_to_follow_meanwhile_is_told(chat: Chat) -> None:
    paper = core.CreateArtifact(kind="paper", data={"text": "v1"})
    chat.workspace.commit(paper)
    chat.post("Begin")
    read = call("read_artifact", artifact_id=paper.artifact_id)
    script = Script(read, meanwhile(partial(edit, chat, paper.artifact_id), look()), say("Seen."))
    with hosting(script):
        chat.run_turn()
    (note,) = told(script)
    assert f"Ben changed {paper.artifact_id}" in note


def test_the_agents_own_changes_are_not_told(chat: Chat) -> None:
    paper = followed(chat)
    chat.post("Begin")
    own = call("edit_text", artifact_id=paper, edits=[{"old": "v1", "new": "v2"}])
    script = Script(own, look(), say("Done."), say("Again."))
    with hosting(script):
        chat.run_turn()
        chat.post("And?")
        chat.run_turn()
    assert all("changed" not in note for note in told(script))


@pytest.mark.parametrize("place", ["reading", "last request"])
def test_two_runs_report_each_change_exactly_once(
    chat: Chat, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that lands between reading what changed and storing it."""
    paper = followed(chat)
    chat.post("Begin")
    steps: list[Any] = [say("One."), say("Two."), say("Three.")]
    if place == "last request":
        steps[0] = meanwhile(partial(edit, chat, paper), say("One."))
    script = Script(*steps)
    with hosting(script):
        with monkeypatch.context() as patch:
            if place == "reading":
                render, once = core.render_notes, iter([True])

                def rendered(notes: Any) -> str:
                    if next(once, False):
                        edit(chat, paper)
                    return render(notes)

                patch.setattr(core, "render_notes", rendered)
            chat.run_turn()
        for text in ("And?", "And now?"):
            chat.post(text)
            chat.run_turn()
    changed = [note for note in told(script) if f"changed {paper}" in note]
    assert len(changed) == 1
    assert len([note for note in told(script) if f"created {paper}" in note]) == 1


@pytest.mark.parametrize("notices", [True, False])
def test_notices_are_told_to_agents_that_want_them(chat: Chat, notices: bool) -> None:
    chat.post("Lunch at noon", kind="notice")
    chat.post("Begin")
    script = Script(
        meanwhile(partial(chat.post, "Or at one", actor=BEN, kind="notice"), look()),
        say("One."),
        say("Two."),
    )
    capability = ArtifactWorkspace(types=[Paper, Board], notices=notices)
    with hosting(agent_with(script.model, capabilities=[capability])):
        chat.run_turn()
        chat.post("Next")
        chat.run_turn()
    notes = "\n".join(told(script))
    assert notes.count("Ana noted: Lunch at noon") == notices
    assert notes.count("Ben noted: Or at one") == notices
    assert all("wrote meanwhile" not in each for each in script.prompts(-1))


def test_an_agent_that_a_tool_runs_is_not_steered(chat: Chat) -> None:
    """Its messages are its own: the thread's history holds none of them."""
    inner = Script(look(), say("Inner."))

    async def delegate(ctx: RunContext[Any]) -> str:
        await in_pool(partial(chat.post, "Meanwhile", actor=BEN))
        result = await agent_with(inner.model).run("Inner task", deps=ctx.deps)
        return str(result.output)

    script = Script(call("delegate"), say("Outer."), say("Next."))
    chat.post("Begin")
    with hosting(agent_with(script.model, tools=[delegate])):
        chat.run_turn()
        chat.post("More")
        chat.run_turn()
    assert inner.prompts(-1) == ["Inner task"]
    assert script.prompts(1) == ["Begin", "Ben wrote meanwhile:", "Meanwhile"]
    assert script.prompts(2) == [*script.prompts(1), "More"]
    names = [each.tool_name for each in chat.events(core.ToolCalled)]
    assert names == ["delegate", "list_artifacts"]
