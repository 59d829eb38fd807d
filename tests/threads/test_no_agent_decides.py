"""No tool decides: whatever a host's tool sends through its session, agents decide nothing."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import RunContext

from artifacts import core
from tests.support.builders import edit_text, make_artifact, make_proposal
from tests.support.kinds import Paper
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from threads.agent import Session

OTHER = core.AgentActor(thread_id="thr_other", run_id="run_other")
CLIENT = core.ExternalAgentActor(client_id="bot")


@pytest.fixture
def waiting(chat: Chat) -> dict[str, list[Any]]:
    """What waits for a decision, and every command that would be one."""
    door = chat.workspace
    door.commit(core.CreateThread(thread_id="thr_other", title="Elsewhere"))
    other = door.as_actor(OTHER)
    other.record(core.RunStarted(run_id="run_other", thread_id="thr_other"))
    papers = [make_artifact(door, Paper(text="one")) for _ in range(4)]
    mine = door.as_actor(core.AgentActor(thread_id=chat.id))
    alone = [
        make_proposal(door.as_actor(each) if each else mine, edit_text(paper, 1, "one", "two"))
        for each, paper in zip([OTHER, CLIENT, None], papers[:3], strict=True)
    ]
    grouped = core.ProposeChange(change=edit_text(papers[3], 1, "one", "two"), group_id="grp_1")
    other.commit(grouped)
    asks = core.DeferredRequest(tool_call_id="c1", tool_name="mail", kind="approval")
    other.record(core.RunPaused(run_id="run_other", thread_id="thr_other", requests=(asks,)))
    commands: list[Any] = [
        core.AnswerDeferred(run_id="run_other", tool_call_id="c1", approved=True),
        core.AnswerDeferred(run_id="run_other", tool_call_id="c1", approved=False),
    ]
    for decision in ("accept", "reject"):
        commands.append(core.ResolveGroup(group_id="grp_1", decision=decision))
        commands += [core.RespondToProposal(proposal_id=id, decision=decision) for id in alone]
    return {"proposals": [*alone, grouped.proposal_id], "commands": commands}


def test_no_command_of_a_tool_decides(chat: Chat, waiting: dict[str, list[Any]]) -> None:
    refused: list[str] = []

    async def decide(ctx: RunContext[Session[Any]], number: int) -> str:
        """Decide something."""
        try:
            await ctx.deps.workspace.acommit(waiting["commands"][number])
        except core.Rejection as rejection:
            refused.append(rejection.code)
            raise
        return "decided"

    steps = [call("decide", number=number) for number, _ in enumerate(waiting["commands"])]
    chat.post("Decide everything")
    with hosting(agent_with(Script(*steps, say("I may not.")).model, tools=[decide])):
        chat.run_turn()
    assert refused == ["forbidden"] * len(steps)
    assert [each.status for each in chat.events(core.ToolReturned)] == ["error"] * len(steps)
    assert {chat.workspace.proposal(id).status for id in waiting["proposals"]} == {"pending"}
    assert chat.events(core.DeferredAnswered, core.ArtifactChanged, core.ProposalResolved) == []
    assert chat.said()[-1] == "I may not."


def test_the_same_from_a_person_is_decided(chat: Chat, waiting: dict[str, list[Any]]) -> None:
    """The control: it is who sends them that these commands are refused for."""
    for command in waiting["commands"]:
        try:
            chat.workspace.commit(command)
        except core.InvalidState:
            continue  # decided by the one before
    statuses = {chat.workspace.proposal(id).status for id in waiting["proposals"]}
    assert "pending" not in statuses
    assert len(chat.events(core.DeferredAnswered)) == 1
