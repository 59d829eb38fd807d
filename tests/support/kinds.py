"""The artifact and feedback types that conformance cases use; importing registers them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from artifacts.core import Artifact, Feedback, MarkdownArtifact, WritePolicy


class Paper(MarkdownArtifact):
    """A text that agents may change directly."""


class Job(BaseModel):
    title: str
    status: Literal["todo", "doing", "done"] = "todo"


class Board(Artifact):
    """Jobs under stable keys; an agent's change waits for a decision."""

    write_policy: ClassVar[WritePolicy] = "propose"

    goal: str = ""
    jobs: dict[str, Job] = {}

    def describe_change(self, before: Self) -> str | None:
        done = [
            job.title
            for key, job in self.jobs.items()
            if job.status == "done" and key in before.jobs and before.jobs[key].status != "done"
        ]
        return f"completed {', '.join(done)}" if done else None


class Card(Artifact):
    """Every way in which validation shows: required, coerced, bounded, filled in, all together."""

    title: str
    points: Annotated[int, Field(ge=0, le=100)] = 1
    size: Literal["s", "m", "l"] = "m"
    labels: list[str] = []
    note: str | None = None

    @model_validator(mode="after")
    def _big_ones_say_why(self) -> Self:
        if self.points > 50 and not self.note:
            raise ValueError("more than 50 points need a note")
        return self


class Clarity(Feedback, targets={"turn", "thread"}):
    rating: Annotated[int, Field(ge=1, le=5)]
    reason: str = "none given"


class Fit(Feedback, targets={"artifact", "message"}):
    fits: bool
