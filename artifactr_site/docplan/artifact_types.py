"""The demo's two kinds: a Markdown document, and a plan whose tasks agents only propose."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import BaseModel

from artifacts.core import Artifact, MarkdownArtifact, WritePolicy, new_id

Status = Literal["todo", "doing", "done"]


class Doc(MarkdownArtifact):
    """A document that people and agents edit alike."""


class Task(BaseModel):
    """One thing to do."""

    title: str
    status: Status = "todo"


class Plan(Artifact):
    """A goal and its tasks, keyed by id so that one task's path never shifts with another."""

    write_policy: ClassVar[WritePolicy] = "propose"

    goal: str = ""
    tasks: dict[str, Task] = {}

    def add_task(self, title: str) -> str:
        task_id = new_id("task")
        self.tasks[task_id] = Task(title=title)
        return task_id

    def set_status(self, task_id: str, status: Status) -> None:
        self.tasks[task_id].status = status

    def render_for_agent(self) -> str:
        tasks = [f"- [{task.status}] {task.title} ({id})" for id, task in self.tasks.items()]
        return "\n".join([f"Goal: {self.goal}", *tasks])

    def describe_change(self, before: Self) -> str | None:
        added = [task.title for id, task in self.tasks.items() if id not in before.tasks]
        moved = [
            f"{task.title} is {task.status}"
            for id, task in self.tasks.items()
            if id in before.tasks and before.tasks[id].status != task.status
        ]
        told = [f"added {title}" for title in added] + moved
        return "; ".join(told) or None
