"""The generic tools, through a turn: what they do, what they refuse, and what the model is told."""

from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo

from artifacts import core
from tests.support.cast import ANA, BEN
from tests.support.kinds import Board, Paper
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from threads import selectors
from threads.agent import ArtifactWorkspace, Session, function_model


class Tally(core.Artifact):
    """A kind without any text."""

    count: int = 0


class Stricter(core.Artifact, abstract=True):
    """What a later release makes of it."""

    count: str


class Cake(core.Artifact):
    """A kind that speaks to agents in its own words."""

    layers: int = 1

    def render_for_agent(self) -> str:
        return f"A cake of {self.layers} layers.\nIt is good."


def create(chat: Chat, kind: str = "paper", **data: Any) -> str:
    command = core.CreateArtifact(kind=kind, data=data)
    chat.workspace.commit(command)
    return command.artifact_id


def told(chat: Chat, *steps: Any, **kwargs: Any) -> list[str]:
    """Run a turn with these steps; what each tool told the model."""
    chat.post("Go")
    script = Script(*steps, say("ok"))
    with hosting(agent_with(script.model, **kwargs)):
        chat.run_turn()
    (run,) = chat.runs()
    assert run.status == "completed", chat.events(core.RunEnded)
    return [
        str(part.content)
        for message in script.requests[-1]
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def test_list_shows_what_is_there(chat: Chat) -> None:
    paper, board = create(chat, text="# Title\nMore"), create(chat, "board", goal="Ship")
    (answer,) = told(chat, call("list_artifacts"))
    assert f"{paper} (paper, version 1): # Title" in answer.splitlines()
    assert f"{board} (board, version 1)" in answer

    follow_up = selectors.thread(chat.workspace, chat.id)
    assert follow_up.focus == ()


def test_read_follows(chat: Chat) -> None:
    paper = create(chat, text="All of it.")
    (answer,) = told(chat, call("read_artifact", artifact_id=paper))
    assert answer == f"{paper} (paper, version 1)\nAll of it."
    assert selectors.thread(chat.workspace, chat.id).focus == (paper,)


def test_a_kind_is_shown_in_its_own_words_or_as_its_data(chat: Chat) -> None:
    cake, tally = create(chat, "cake", layers=3), create(chat, "tally", count=5)
    capability = ArtifactWorkspace(types=[Cake, Tally])
    answers = told(
        chat,
        call("list_artifacts"),
        call("read_artifact", artifact_id=cake),
        call("read_artifact", artifact_id=tally),
        capabilities=[capability],
    )
    assert f"{cake} (cake, version 1): A cake of 3 layers." in answers[0].splitlines()
    assert answers[1] == f"{cake} (cake, version 1)\nA cake of 3 layers.\nIt is good."
    assert '"count": 5' in answers[2]


def test_create_writes_as_the_agent_and_follows(chat: Chat) -> None:
    (answer,) = told(chat, call("create_artifact", kind="paper", data={"text": "New."}))
    (created,) = chat.events(core.ArtifactCreated)
    assert created.thread_id == chat.id
    assert created.run_id == chat.runs()[0].id
    assert answer == f"Done: {created.artifact_id} is now at version 1."
    author = chat.workspace.artifact(created.artifact_id).updated_by
    assert author.participant == f"agent:{chat.id}"
    assert isinstance(author, core.AgentActor)
    assert author.on_behalf_of == ANA
    assert selectors.thread(chat.workspace, chat.id).focus == (created.artifact_id,)


def test_create_of_a_kind_to_propose_is_a_proposal(chat: Chat) -> None:
    (answer,) = told(chat, call("create_artifact", kind="board", data={"goal": "Ship"}))
    (proposal,) = chat.workspace.proposals("pending")
    assert proposal.id in answer


def test_edit_text_replaces_and_follows(chat: Chat) -> None:
    paper = create(chat, text="One line.")
    edits = [{"old": "One", "new": "Two"}, {"old": "Two line", "new": "Two lines"}]
    (answer,) = told(chat, call("edit_text", artifact_id=paper, edits=edits))
    assert chat.workspace.artifact(paper).data == {"text": "Two lines."}
    assert answer == f"Done: {paper} is now at version 2."
    assert selectors.thread(chat.workspace, chat.id).focus == (paper,)


def test_edit_text_can_propose(chat: Chat) -> None:
    paper = create(chat, text="One line.")
    edits = [{"old": "One", "new": "Two"}]
    told(chat, call("edit_text", artifact_id=paper, edits=edits, propose=True))
    assert chat.workspace.artifact(paper).version == 1
    assert len(chat.workspace.proposals("pending")) == 1


def test_suggest_mode_turns_a_direct_edit_into_a_proposal_until_it_ends(chat: Chat) -> None:
    paper = create(chat, text="One line.")
    chat.workspace.commit(core.SetThreadMode(thread_id=chat.id, mode="suggest"))
    told(chat, call("edit_text", artifact_id=paper, edits=[{"old": "One", "new": "Two"}]))
    assert chat.workspace.artifact(paper).version == 1
    assert len(chat.workspace.proposals("pending")) == 1

    chat.workspace.commit(core.SetThreadMode(thread_id=chat.id, mode="edit"))
    chat.post("Now really")
    step = call("edit_text", artifact_id=paper, edits=[{"old": "One", "new": "Two"}])
    with hosting(Script(step, say("ok"))):
        chat.run_turn()
    assert chat.workspace.artifact(paper).version == 2


def test_a_missing_anchor_comes_back_with_the_text_as_it_is(chat: Chat) -> None:
    paper = create(chat, text="One line.")
    wrong = call("edit_text", artifact_id=paper, edits=[{"old": "Five", "new": "Two"}])
    right = call("edit_text", artifact_id=paper, edits=[{"old": "One", "new": "Two"}])
    first, second = told(chat, wrong, right)
    assert "patch_failed" in first
    assert "One line." in first
    assert second.startswith("Done")
    statuses = [each.status for each in chat.events(core.ToolReturned)]
    assert statuses == ["retry", "ok"]


def test_a_conflict_comes_back_with_the_version_in_force(chat: Chat) -> None:
    paper = create(chat, text="One line.")

    async def stale(ctx: RunContext[Session[Any]]) -> str:
        """An application's tool that loses a race."""
        patch = core.TextEdits(edits=(core.TextEdit(old="One", new="Ben's"),))
        await chat.workspace.as_actor(BEN).acommit(
            core.EditArtifact(artifact_id=paper, base_version=1, patch=patch)
        )
        await ctx.deps.workspace.acommit(core.ArchiveArtifact(artifact_id=paper, base_version=1))
        return "archived"

    (answer,) = told(chat, call("stale"), tools=[stale])
    assert "version_conflict" in answer
    assert "Changed since version 1:\n- version 2 by Ben: " in answer
    assert """{"old":"One","new":"Ben's"}""" in answer
    assert f"{paper} (paper, version 2)\nBen's line." in answer


def test_data_that_does_not_fit_comes_back(chat: Chat) -> None:
    wrong = call("create_artifact", kind="paper", data={"title": "no such field"})
    (answer,) = told(chat, wrong)
    assert "validation_failed" in answer
    assert "title" in answer


def test_every_problem_of_the_data_comes_back(chat: Chat) -> None:
    wrong = call("create_artifact", kind="board", data={"goal": 1, "jobs": {"a": {}}, "x": 1})
    (answer,) = told(chat, wrong)
    problems = answer.splitlines()[1:]
    assert [each.split(":")[0] for each in problems] == [
        "- data.goal",
        "- data.jobs.a.title",
        "- data.x",
    ]


def test_a_kind_says_which_of_its_fields_are_texts(chat: Chat) -> None:
    board = create(chat, "board", goal="Ship")
    tally = create(chat, "tally", count=1)
    edits = [{"old": "Ship", "new": "Sail"}]
    known = [ArtifactWorkspace(types=[Board, Tally])]
    none, other, right = told(
        chat,
        call("edit_text", artifact_id=tally, edits=edits),
        call("edit_text", artifact_id=board, edits=edits),
        call("edit_text", artifact_id=board, edits=edits, field="goal"),
        capabilities=known,
    )
    assert none.endswith("Use a tool made for this kind, or say that you have none.")
    assert other.endswith("has no text field 'text'. Its text fields are: goal.")
    assert right.startswith("Proposed")
    statuses = [each.status for each in chat.events(core.ToolReturned)]
    assert statuses == ["error", "retry", "ok"]


def test_no_tool_takes_raw_patches(chat: Chat) -> None:
    schemas: list[str] = []

    async def look(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        schemas.extend(str(each.parameters_json_schema) for each in info.function_tools)
        return say("ok")

    chat.post("Go")
    with hosting(agent_with(function_model(look))):
        chat.run_turn()
    assert len(schemas) == 5
    assert "old" in "".join(schemas)
    assert not any(word in each for each in schemas for word in ("'op'", "'ops'", "json_patch"))


def test_a_listing_is_bounded_and_goes_on(chat: Chat) -> None:
    """What the agent has no business with takes no room in it."""
    for _ in range(4):
        create(chat, "maintained_value", text="Not for this agent")
    papers = [create(chat, text=f"Paper {number}") for number in range(5)]
    capability = ArtifactWorkspace(types=[Paper], listed=3)
    first, rest = told(
        chat,
        call("list_artifacts"),
        call("list_artifacts", kind="paper", after=papers[2]),
        capabilities=[capability],
    )
    assert [each.split(" ")[0] for each in first.splitlines()] == [*papers[:3], "There"]
    assert f"list kind 'paper' after '{papers[2]}'" in first
    assert [each.split(" ")[0] for each in rest.splitlines()] == papers[3:]


def test_what_is_shown_is_bounded(chat: Chat) -> None:
    paper = create(chat, text="word " * 100)
    capability = ArtifactWorkspace(types=[Paper], shown_chars=20)
    (answer,) = told(chat, call("read_artifact", artifact_id=paper), capabilities=[capability])
    assert answer.splitlines()[1:] == ["word word word word ", "… (cut at 20 characters)"]


def test_what_no_longer_fits_its_kind_is_shown_as_it_is(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = create(chat, "tally", count=1)
    monkeypatch.setattr(Tally, "model_validate", Stricter.model_validate)
    answers = told(
        chat,
        call("read_artifact", artifact_id=tally),
        call("list_artifacts"),
        capabilities=[ArtifactWorkspace(types=[Tally])],
    )
    assert answers[0] == f'{tally} (tally, version 1)\n{{\n  "count": 1\n}}'
    assert answers[1].startswith(tally)


def test_an_unknown_artifact_is_a_plain_failure(chat: Chat) -> None:
    (answer,) = told(chat, call("read_artifact", artifact_id="art_none"))
    assert "not_found" in answer
    (returned,) = chat.events(core.ToolReturned)
    assert returned.status == "error"


@pytest.mark.parametrize("id", ["", "call/1", "c" * 200, "c\0"])
def test_a_call_is_logged_and_done_whatever_its_provider_calls_it(chat: Chat, id: str) -> None:
    odd = ModelResponse(parts=[ToolCallPart("list_artifacts", {}, tool_call_id=id)])
    assert told(chat, odd) == ["There are no artifacts yet."]
    (called,), (returned,) = chat.events(core.ToolCalled), chat.events(core.ToolReturned)
    assert called.tool_call_id == returned.tool_call_id
    assert returned.status == "ok"


@pytest.mark.parametrize("id", ["art_\0", "a/b", "a" * 200])
def test_an_impossible_id_is_a_plain_failure_too(chat: Chat, id: str) -> None:
    (answer,) = told(chat, call("read_artifact", artifact_id=id))
    assert "not_found" in answer


def test_other_kinds_are_refused(chat: Chat) -> None:
    value = create(chat, "maintained_value", text="Not for this agent")
    read, made = told(
        chat,
        call("read_artifact", artifact_id=value),
        call("create_artifact", kind="maintained_value", data={}),
    )
    assert "board, paper" in read
    assert "board, paper" in made
    assert "Not for this agent" not in read


def test_archive_makes_it_read_only(chat: Chat) -> None:
    paper = create(chat, text="Old.")
    told(chat, call("archive_artifact", artifact_id=paper))
    assert chat.workspace.artifact(paper).archived


def test_summaries_in_the_log_are_bounded_and_clean(chat: Chat) -> None:
    text = "word\0 " * 1_000
    told(chat, call("create_artifact", kind="paper", data={"text": text}), say("x"))
    (called,) = chat.events(core.ToolCalled)
    assert len(called.args_summary) <= 500
    assert "\0" not in called.args_summary


def test_a_tool_sees_the_hosts_own_things_and_commits_as_the_agent(chat: Chat) -> None:
    async def stamp(ctx: RunContext[Session[dict[str, str]]]) -> str:
        """Write what the host handed over."""
        command = core.CreateArtifact(kind="paper", data={"text": ctx.deps.app["stamp"]})
        outcome = await ctx.deps.workspace.acommit(command)
        assert isinstance(outcome, core.Applied)
        return f"at version {outcome.version}"

    chat.post("Go")
    script = Script(call("stamp"), say("ok"))
    with hosting(agent_with(script.model, tools=[stamp]), app={"stamp": "from the host"}):
        chat.run_turn()
    (created,) = chat.events(core.ArtifactCreated)
    assert created.data == {"text": "from the host"}
    assert (created.thread_id, created.run_id) == (chat.id, chat.runs()[0].id)


def test_the_model_is_told_what_it_follows_and_the_mode_afresh(chat: Chat) -> None:
    paper = create(chat, text="One line.")
    chat.workspace.commit(core.SetThreadMode(thread_id=chat.id, mode="suggest"))
    seen: list[str] = []

    async def look(messages: list[ModelMessage]) -> Any:
        seen.append(str(messages[-1].instructions))  # type: ignore[union-attr]
        return call("read_artifact", artifact_id=paper) if len(seen) == 1 else say("ok")

    chat.post("Go")
    with hosting(Script(look, look)):
        chat.run_turn()
    before, after = seen
    assert "suggest mode" in before
    assert paper not in before
    assert f"- {paper} (paper, version 1)" in after


def test_of_much_that_it_follows_the_newest_is_named(chat: Chat) -> None:
    papers = [create(chat, text=f"Paper {number}") for number in range(5)]
    chat.workspace.commit(core.SetFocus(thread_id=chat.id, artifact_ids=tuple(papers)))
    seen: list[str] = []

    async def look(messages: list[ModelMessage]) -> ModelResponse:
        seen.append(str(messages[-1].instructions))  # type: ignore[union-attr]
        return say("ok")

    capability = ArtifactWorkspace(types=[Paper], followed=2)
    told(chat, look, capabilities=[capability])
    assert [each in seen[0] for each in papers] == [False, False, False, True, True]
    assert "- and 3 more" in seen[0]
    assert "Paper" not in seen[0]


@pytest.mark.parametrize("streamed", [False, True])
def test_function_model_answers_whole_and_streamed(chat: Chat, streamed: bool) -> None:
    async def watch(ctx: Any, events: Any) -> None:
        kinds.extend([each.event_kind async for each in events])

    from asgiref.sync import async_to_sync

    kinds: list[str] = []
    agent = agent_with(Script(say("Word by word")).model, capabilities=[])
    handler = {"event_stream_handler": watch} if streamed else {}
    result: Any = async_to_sync(agent.run)("Go", **handler)  # type: ignore[arg-type]
    assert result.output == "Word by word"
    assert (kinds.count("part_delta") > 1) is streamed
