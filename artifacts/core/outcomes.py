"""What is answered when a command was decided. The door adds the seq of the last event."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .commands import Decision
from .values import Id, Value


class Applied(Value):
    """A change was written."""

    type: Literal["applied"] = "applied"
    artifact_id: Id
    version: int
    seq: int | None = None


class Proposed(Value):
    """The change became a proposal."""

    type: Literal["proposed"] = "proposed"
    proposal_id: Id
    seq: int | None = None


class Resolved(Value):
    """A proposal or a whole group was decided; `version` is what an accepted one wrote."""

    type: Literal["resolved"] = "resolved"
    proposal_id: Id | None = None
    group_id: Id | None = None
    decision: Decision
    version: int | None = None
    seq: int | None = None


class Recorded(Value):
    """Everything else."""

    type: Literal["recorded"] = "recorded"
    run_id: Id | None = None
    seq: int | None = None


AnyOutcome = Applied | Proposed | Resolved | Recorded
Outcome = Annotated[AnyOutcome, Field(discriminator="type")]
outcome_adapter: TypeAdapter[AnyOutcome] = TypeAdapter(Outcome)
