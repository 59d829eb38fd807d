"""Who acts in tests: Ana reviews, Ben edits, Vera views, Otto is of another tenant, and `scribe` is
the agent of a thread. Every test of a permission says who."""

from __future__ import annotations

from dataclasses import dataclass

from artifacts import models
from artifacts.core import AgentActor, SystemActor, UserActor
from artifacts.workspace import Workspace, open_workspace

ANA = UserActor(id="ana", name="Ana")
BEN = UserActor(id="ben", name="Ben")
VERA = UserActor(id="vera", name="Vera")
OTTO = UserActor(id="otto", name="Otto")
SYSTEM = SystemActor()


@dataclass(frozen=True)
class Cast:
    """One workspace in everybody's hands, and Otto's elsewhere; doors without roles."""

    ana: Workspace
    ben: Workspace
    vera: Workspace
    system: Workspace
    otto: Workspace

    def scribe(
        self, thread_id: str, *, run_id: str | None = None, behalf: UserActor | None = ANA
    ) -> Workspace:
        """The workspace in the hands of a thread's agent."""
        agent = AgentActor(thread_id=thread_id, run_id=run_id, name="scribe", on_behalf_of=behalf)
        return self.ana.as_actor(agent)


def make_cast() -> Cast:
    """Two tenants with a workspace each."""
    ours = make_workspace("here").public_id
    theirs = make_workspace("there").public_id
    return Cast(
        ana=open_workspace(ours, actor=ANA),
        ben=open_workspace(ours, actor=BEN),
        vera=open_workspace(ours, actor=VERA),
        system=open_workspace(ours, actor=SYSTEM),
        otto=open_workspace(theirs, actor=OTTO),
    )


def make_workspace(name: str = "here") -> models.Workspace:
    """A workspace of a tenant of its own."""
    tenant = models.Tenant.objects.create(name=name)
    return models.Workspace.objects.create(tenant=tenant, name=name)
