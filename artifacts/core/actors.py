"""Who did it: people, agents, the system and evaluators, and when two actors are the same."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .values import Id, Name, Value


class UserActor(Value):
    """A person."""

    kind: Literal["user"] = "user"
    id: Id
    name: Name | None = None

    @property
    def participant(self) -> str:
        return f"user:{self.id}"


class AgentActor(Value):
    """The agent of one thread, in one of its runs, acting for whoever started the turn."""

    kind: Literal["agent"] = "agent"
    thread_id: Id
    run_id: Id | None = None
    name: Name = "assistant"
    on_behalf_of: UserActor | None = None

    @property
    def participant(self) -> str:
        return f"agent:{self.thread_id}"


class ExternalAgentActor(Value):
    """An agent from outside, such as an MCP client."""

    kind: Literal["external_agent"] = "external_agent"
    client_id: Id
    name: Name | None = None
    on_behalf_of: UserActor | None = None

    @property
    def participant(self) -> str:
        return f"external_agent:{self.client_id}"


class SystemActor(Value):
    """The host's own code; its name may hold a path such as `key/importer`."""

    kind: Literal["system"] = "system"
    name: Name = "system"

    @property
    def participant(self) -> str:
        return f"system:{self.name}"


class EvaluatorActor(Value):
    """A judge at a version; it may give feedback and nothing else."""

    kind: Literal["evaluator"] = "evaluator"
    name: Name
    version: Name

    @property
    def participant(self) -> str:
        return f"evaluator:{self.name}@{self.version}"


Actor = Annotated[
    UserActor | AgentActor | ExternalAgentActor | SystemActor | EvaluatorActor,
    Field(discriminator="kind"),
]

actor_adapter: TypeAdapter[
    UserActor | AgentActor | ExternalAgentActor | SystemActor | EvaluatorActor
] = TypeAdapter(Actor)


def is_agent(actor: Actor) -> bool:
    """Agents of either kind, who are subject to write policies."""
    return isinstance(actor, AgentActor | ExternalAgentActor)


def person_behind(actor: Actor) -> str | None:
    """The participant key of the person who acts, directly or through an agent."""
    if isinstance(actor, AgentActor | ExternalAgentActor):
        return actor.on_behalf_of.participant if actor.on_behalf_of else None
    return actor.participant if isinstance(actor, UserActor) else None


def display_name(actor: Actor) -> str:
    """What people read: the given name, or the id where there is none."""
    match actor:
        case UserActor(id=id, name=name):
            return name or id
        case ExternalAgentActor(client_id=client_id, name=name):
            return name or client_id
        case EvaluatorActor(name=name, version=version):
            return f"{name}@{version}"
        case AgentActor(name=name) | SystemActor(name=name):
            return name
