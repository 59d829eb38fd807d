"""The learning half as a walk-through: a skill in force, a use of it, what came of that use, and
the evidence that is made of it.

Everything happens in a scratch workspace of its own, through the doors that applications use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model

from artifacts import core
from artifacts.workspace import Workspace, open_workspace
from feedback.bound import BoundArtifact
from feedback.local import Local
from feedback.services import uses
from feedback.services.routing import Route, route_signal
from learning.services.catalog import apply_catalog, files_of_package

from .seed import let_reviewer_in, new_place, person_in
from .story import NotAsTold, expect

PACKAGE, RECIPE, AGENT = "skills", "daily_agent_prompt", "agent:ada"
TASK = "Tell the customer how their refund stands."
SKILL = {
    "steps": "1. Look the order up.\n2. Answer with its status, in one sentence.",
    "pitfalls": "Promise no date that the order does not have.",
    "examples": "Your refund was approved on Monday.",
}
# What four people and programs say of one answer; the first three tell against the skill.
OUTCOMES: list[dict[str, Any]] = [
    {"kind": "thumbs_down", "source": "end_user", "comment": "It said that I was paid already."},
    {
        "kind": "correction",
        "source": "operator",
        "expected": "Your refund is approved and not yet paid.",
    },
    {"kind": "evaluation", "source": "evaluator", "score": 0.2, "label": "incorrect_status"},
    {"kind": "task_success", "source": "application", "comment": "The ticket was closed."},
]
AGAINST = ("thumbs_down", "correction", "evaluation")
EVIDENCE = Route(collection="outcomes", type="exception", content={"kind": "failure"})


@dataclass(frozen=True, slots=True)
class Table:
    """What one step did."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


class LearningStory:
    """One telling, in a workspace of its own."""

    def __init__(self) -> None:
        name = core.new_id("story")
        self.person = get_user_model().objects.create_user(username=name, first_name="Ana")
        self.place = new_place(self.person, name="Story of learning")
        self.workspace: Workspace = person_in(self.place, self.person)
        let_reviewer_in(self.place)
        self.here = Local(self.workspace)

    def tell(self) -> Iterator[Table]:
        """Each step as a table; the first that is not as told raises."""
        yield self._apply()
        yield self._put_skill()
        use = self._bind()
        yield _identity("A use of the prompt", use)
        yield _heads(use)
        signals = self._judge(use)
        yield _table("What came of it", ("kind", "source", "record"), signals)
        yield self._route(signals)
        yield self._bind_again(use)
        problems = open_workspace(self.place.public_id, actor=core.SystemActor()).verify()
        expect(not problems, f"the log does not verify: {', '.join(problems)}")

    def _apply(self) -> Table:
        applied = apply_catalog(self.workspace, files_of_package(PACKAGE))
        expect(bool(applied.created), "the package declares nothing")
        rows = [each.split(" ") for each in applied.activated]
        return _table(f"The package {applied.package} is in force", ("type", "definition"), rows)

    def _put_skill(self) -> Table:
        rows = []
        for key, text in SKILL.items():
            put = self.here.records.ingest(collection="skills", entity=AGENT, key=key, text=text)
            rows.append((key, put["record_id"], text.splitlines()[0]))
        return _table(f"The skill of {AGENT}", ("key", "record", "text"), rows)

    def _bind(self) -> BoundArtifact:
        use = self.here.artifact(RECIPE).bind({"entity": AGENT, "task": TASK})
        expect(
            all(text in use.content for text in SKILL.values()),
            "the prompt does not hold the skill",
        )
        expect(use.learning_target is not None, "no target was resolved")
        return use

    def _judge(self, use: BoundArtifact) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for outcome in OUTCOMES:
            said = self.here.feedback.submit(use_id=use.id, **outcome)
            rows.append((outcome["kind"], outcome["source"], said["record_id"]))
        kept = [each.id for each in uses.signals(self.workspace, use.id)]
        expect(kept == [row[2] for row in rows], "the signals are not those that were given")
        return rows

    def _route(self, signals: Sequence[tuple[str, ...]]) -> Table:
        """What tells against the skill becomes evidence about its subject, each signal once."""
        rows = []
        for kind, _, signal_id in signals:
            if kind not in AGAINST:
                continue
            first, again = (route_signal(self.workspace, signal_id, EVIDENCE) for _ in range(2))
            expect(first.record_id == again.record_id and again.duplicate, "it was routed twice")
            assert first.record_id is not None
            evidence = self.here.record(first.record_id)
            expect(evidence["derived_from"] == [signal_id], "the evidence does not cite its signal")
            rows.append((evidence["entity"], kind, evidence["id"], signal_id))
        header = ("about", "kind", "record", "derived from")
        return _table("What was made evidence", header, rows)

    def _bind_again(self, before: BoundArtifact) -> Table:
        """The same skill, and what was learned of how it went."""
        use = self.here.artifact(RECIPE).bind({"entity": AGENT, "task": TASK})
        expect(use.learning_target == before.learning_target, "the skill in force has changed")
        expect("not yet paid" in use.content, "the prompt does not show what came of the last one")
        return _identity("A use of the prompt after that", use)


def _identity(title: str, use: BoundArtifact) -> Table:
    target = use.learning_target
    assert target is not None
    rows = [
        ("use", use.id),
        ("recipe", f"{use.artifact['name']}@{use.artifact['version']}"),
        ("render", use.render_sha256),
        ("to improve", f"{target['artifact']['name']}@{target['artifact']['version']}"),
        ("base run", target["base_run_id"] or "none: nothing was promoted yet"),
    ]
    return _table(title, ("what", "value"), rows)


def _heads(use: BoundArtifact) -> Table:
    assert use.learning_target is not None
    rows = [
        (f"{head['collection']}/{head['key']}", head["record_id"])
        for head in use.learning_target["heads"]
    ]
    return _table("What was in force when it was bound", ("value", "record"), rows)


def _table(title: str, header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> Table:
    return Table(title, header, [tuple(row) for row in rows])


__all__ = ["LearningStory", "NotAsTold", "Table"]
