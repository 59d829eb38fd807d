"""The demo's kinds, tools and script, apart from the story that the end-to-end tests tell."""

import ast
from pathlib import Path
from typing import Any

import pytest

from artifactr_site.docplan import agent, artifact_types, script
from artifacts import core
from artifacts.workspace import Workspace
from tests.support.cast import ANA
from tests.support.models import Script, call, hosting, say
from tests.threads.conftest import Chat
from threads import selectors

FOLDER = Path(script.__file__).parent
PUBLIC = {"artifacts.core", "threads.agent"}


def create(workspace: Workspace, kind: str, **data: Any) -> str:
    command = core.CreateArtifact(kind=kind, data=data)
    workspace.commit(command)
    return command.artifact_id


def turn(chat: Chat, text: str = "Add a section on pricing. Soon!") -> str:
    chat.post(text)
    with hosting(agent.agent):
        chat.run_turn()
    assert selectors.runs(chat.workspace)[-1].status == "completed"
    return chat.said()[-1]


@pytest.mark.parametrize("name", ["artifact_types", "agent", "script"])
def test_kinds_and_agent_use_public_imports_only(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    ours = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.level == 0
        and str(node.module).split(".")[0] in ("artifacts", "threads", "feedback", "learning")
    }
    assert ours <= PUBLIC


def test_the_script_edits_the_document_it_read_and_proposes_a_task(chat: Chat) -> None:
    doc = create(chat.workspace, "doc", text="# Notes\n\nOne.\n\nOne.")
    plan = create(chat.workspace, "plan", goal="Ship")
    reply = turn(chat)
    text = chat.workspace.artifact(doc).data["text"]
    assert text == "# Notes\n\nOne.\n\nOne.\n\n- Add a section on pricing"
    (proposal,) = chat.workspace.proposals("pending", artifact_id=plan)
    assert proposal.result is not None
    (task,) = proposal.result["tasks"].values()
    assert task == {"title": "Add a section on pricing", "status": "todo"}
    assert doc in reply
    assert proposal.id in reply


def test_the_script_fills_an_empty_document(chat: Chat) -> None:
    doc = create(chat.workspace, "doc")
    turn(chat)
    assert chat.workspace.artifact(doc).data == {"text": "- Add a section on pricing"}


def test_the_script_answers_the_newest_message(chat: Chat) -> None:
    doc = create(chat.workspace, "doc", text="Start.")
    turn(chat, "First thing")
    turn(chat, "Second thing")
    assert chat.workspace.artifact(doc).data["text"] == (
        "Start.\n\n- First thing\n\n- Second thing"
    )


def test_the_script_says_so_where_there_is_nothing_to_work_on(chat: Chat) -> None:
    assert "neither a document nor a plan" in turn(chat)


def test_the_script_takes_up_every_message_it_is_given(chat: Chat) -> None:
    doc = create(chat.workspace, "doc", text="Start.")
    chat.post("First thing")
    reply = turn(chat, "Second thing")
    assert chat.workspace.artifact(doc).data["text"] == (
        "Start.\n\n- First thing\n\n- Second thing"
    )
    assert reply.startswith("Noted: First thing.")
    assert "Noted: Second thing." in reply


def test_the_script_does_not_write_a_thing_twice(chat: Chat) -> None:
    doc = create(chat.workspace, "doc", text="Start.")
    turn(chat, "One thing")
    assert "says so already" in turn(chat, "One thing")
    assert chat.workspace.artifact(doc).version == 2


def test_the_script_asks_where_a_message_says_too_little(chat: Chat) -> None:
    doc = create(chat.workspace, "doc", text="Start.")
    chat.post("Please add a section.")
    with hosting(agent.agent):
        chat.run_turn()
        (paused,) = chat.events(core.RunPaused)
        (request,) = paused.requests
        assert (request.tool_name, request.kind) == ("ask_user", "question")
        assert request.args["choices"] == ["Goals", "Pricing", "Risks"]
        chat.workspace.commit(
            core.AnswerDeferred(
                run_id=paused.run_id, tool_call_id=request.tool_call_id, answer="Pricing"
            )
        )
        chat.run_turn()
    assert chat.said()[-1].startswith("Noted: Pricing.")
    assert chat.workspace.artifact(doc).data["text"] == "Start.\n\n- Pricing"


@pytest.mark.parametrize("approved", [True, False])
def test_the_script_starts_over_if_that_is_approved(chat: Chat, approved: bool) -> None:
    doc = create(chat.workspace, "doc", text="Start.")
    chat.post("Let us start over.")
    with hosting(agent.agent):
        chat.run_turn()
        (paused,) = chat.events(core.RunPaused)
        (request,) = paused.requests
        assert (request.tool_name, request.kind) == ("clear_doc", "approval")
        assert request.args == {"doc_id": doc}
        answer = core.AnswerDeferred(
            run_id=paused.run_id,
            tool_call_id=request.tool_call_id,
            approved=approved,
            answer=None if approved else "Not yet",
        )
        chat.workspace.commit(answer)
        chat.run_turn()
    assert chat.workspace.artifact(doc).data["text"] == ("" if approved else "Start.")
    assert ("is empty" if approved else "Not yet") in chat.said()[-1]


def test_set_status_proposes_and_knows_its_tasks(chat: Chat) -> None:
    tasks = {"t1": {"title": "Write"}}
    plan = create(chat.workspace, "plan", goal="Ship", tasks=tasks)
    chat.post("Go")
    model = Script(
        call("set_status", plan_id=plan, task_id="t9", status="done"),
        call("set_status", plan_id=plan, task_id="t1", status="done"),
        say("ok"),
    ).model
    with agent.agent.override(model=model), hosting(agent.agent):
        chat.run_turn()
    retry, ok = chat.events(core.ToolReturned)
    assert (retry.status, ok.status) == ("retry", "ok")
    assert "t1" in retry.summary
    (proposal,) = chat.workspace.proposals("pending")
    chat.workspace.as_actor(ANA).commit(
        core.RespondToProposal(proposal_id=proposal.id, decision="accept")
    )
    (changed,) = chat.events(core.ArtifactChanged)
    assert changed.summary == "Write is done"
    assert chat.workspace.get(artifact_types.Plan, plan).data.tasks["t1"].status == "done"


def test_a_plan_speaks_for_itself() -> None:
    before = artifact_types.Plan(goal="Ship")
    after = before.model_copy(deep=True)
    task_id = after.add_task("Write")
    assert after.describe_change(before) == "added Write"
    assert before.describe_change(before) is None
    assert after.render_for_agent() == f"Goal: Ship\n- [todo] Write ({task_id})"
