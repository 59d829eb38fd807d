"""The demo's agent: the generic tools, a few of its own, and an offline model."""

from __future__ import annotations

from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, RunContext
from pydantic_ai.toolsets import FunctionToolset

from artifacts.core import Outcome, Proposed
from threads.agent import ArtifactWorkspace, Session

from .artifact_types import Doc, Plan, Status
from .script import offline_model

Context = RunContext[Session[None]]

own_tools: FunctionToolset[Session[None]] = FunctionToolset()


@own_tools.tool
async def add_task(ctx: Context, plan_id: str, title: str) -> str:
    """Add a task to a plan.

    Args:
        plan_id: The plan's artifact id.
        title: What is to be done.
    """
    plan = await ctx.deps.workspace.aget(Plan, plan_id)
    command = plan.edit(lambda draft: draft.add_task(title))
    return _said(await ctx.deps.workspace.acommit(command))


@own_tools.tool
async def set_status(ctx: Context, plan_id: str, task_id: str, status: Status) -> str:
    """Say how far a task of a plan is.

    Args:
        plan_id: The plan's artifact id.
        task_id: The task's id within the plan.
        status: todo, doing or done.
    """
    plan = await ctx.deps.workspace.aget(Plan, plan_id)
    if task_id not in plan.data.tasks:
        raise ModelRetry(f"The plan's tasks are: {', '.join(plan.data.tasks) or 'none yet'}.")
    command = plan.edit(lambda draft: draft.set_status(task_id, status))
    return _said(await ctx.deps.workspace.acommit(command))


@own_tools.tool(requires_approval=True)
async def clear_doc(ctx: Context, doc_id: str) -> str:
    """Empty a document, once a person has approved it.

    Args:
        doc_id: The document's artifact id.
    """
    doc = await ctx.deps.workspace.aget(Doc, doc_id)
    command = doc.edit(lambda draft: setattr(draft, "text", ""))
    return _said(await ctx.deps.workspace.acommit(command))


def _said(outcome: Outcome) -> str:
    if isinstance(outcome, Proposed):
        return f"Proposed ({outcome.proposal_id}); a person will review it."
    return "Done."


# Its output may also be what it waits for: an answer of somebody, or an approval.
agent = Agent(
    offline_model(),
    deps_type=Session,
    output_type=[str, DeferredToolRequests],
    instructions="You help people write a document and keep its plan. Be brief.",
    toolsets=[own_tools],
    capabilities=[ArtifactWorkspace(types=[Doc, Plan])],
)
