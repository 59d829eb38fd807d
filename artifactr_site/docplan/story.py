"""The scripted story: a person and an agent write one document, and the log says who did what.

Everything happens in a scratch workspace of its own, through the doors that people and agents use:
the person's commits, a task for the turn, the admin's page for the decision.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from artifacts import core
from artifacts.models import Proposal
from artifacts.models import Workspace as Row
from artifacts.surfaces.event_lines import event_line, who
from artifacts.workspace import Workspace, open_workspace
from threads import selectors

from .artifact_types import Doc, Plan
from .seed import let_reviewer_in, new_place, person_in

REQUEST = "Add a section on pricing"
TURN_SECONDS = 60


class NotAsTold(Exception):
    """A step of the story went another way."""


class Story:
    """One telling, in a workspace of its own."""

    def __init__(self) -> None:
        name = core.new_id("story")
        self.person = get_user_model().objects.create_user(
            username=name, first_name="Ana", is_staff=True
        )
        self.place: Row = new_place(self.person, name="Story of the demo")
        self.workspace: Workspace = person_in(self.place, self.person)
        let_reviewer_in(self.place)
        self.doc_id, self.plan_id, self.thread_id = (
            core.new_id(prefix) for prefix in ("art", "art", "thr")
        )

    def tell(self) -> None:
        """All steps in order; the first that is not as told raises."""
        self._person_writes()
        self._agent_answers()
        self._person_accepts()
        problems = open_workspace(self.place.public_id, actor=core.SystemActor()).verify()
        expect(not problems, f"the log does not verify: {', '.join(problems)}")

    def table(self) -> Iterator[tuple[str, str, str, str]]:
        """The log: number, actor, event, summary."""
        for each in self.workspace.read():
            yield str(each.seq), who(each.actor), each.event.type, event_line(each.event)

    def _person_writes(self) -> None:
        workspace = self.workspace
        workspace.commit(core.CreateThread(thread_id=self.thread_id, title="Launch"))
        for id, kind, data in [
            (self.doc_id, "doc", {"text": "# Launch\n\nFirst draft."}),
            (self.plan_id, "plan", {"goal": "Launch"}),
        ]:
            workspace.commit(core.CreateArtifact(artifact_id=id, kind=kind, data=data))
        focus = (self.doc_id, self.plan_id)
        workspace.commit(core.SetFocus(thread_id=self.thread_id, artifact_ids=focus))
        doc = workspace.get(Doc, self.doc_id)
        outcome = workspace.commit(doc.edit(_second_draft))
        expect(
            isinstance(outcome, core.Applied) and outcome.version == 2,
            "the person's edit did not give version 2 of the document",
        )

    def _agent_answers(self) -> None:
        self.workspace.commit(core.PostMessage(thread_id=self.thread_id, content=REQUEST))
        run = self._ended_run()
        expect(run.status == "completed", f"the run is {run.status}, not completed")
        doc = self.workspace.get(Doc, self.doc_id)
        expect(
            isinstance(doc.updated_by, core.AgentActor) and REQUEST in doc.data.text,
            "the agent did not edit the document",
        )
        expect(
            self.workspace.get(Plan, self.plan_id).version == 1,
            "the agent changed the plan instead of proposing a change",
        )

    def _ended_run(self) -> core.Run:
        deadline = time.monotonic() + TURN_SECONDS
        while time.monotonic() < deadline:
            for run in selectors.runs(self.workspace, thread_id=self.thread_id):
                if run.has_ended:
                    return run
            time.sleep(0.02)
        raise NotAsTold(f"the turn did not end within {TURN_SECONDS} seconds")

    def _person_accepts(self) -> None:
        pending = self.workspace.proposals("pending")
        expect(len(pending) == 1, f"{len(pending)} proposals wait for a decision, not one")
        row = Proposal.objects.get(workspace=self.place, public_id=pending[0].id)
        url = reverse("admin:artifactr_proposal_decide", args=[row.pk])
        browser = Client(headers={"host": "localhost"})
        browser.force_login(self.person)
        page = browser.get(url, secure=True)
        expect(page.status_code == 200, f"the decision page answered {page.status_code}")
        form = hidden_fields(page.content.decode()) | {"decision": "accept"}
        done = browser.post(url, form, secure=True)
        expect(done.status_code == 302, f"the decision was answered with {done.status_code}")
        expect(
            self.workspace.proposal(pending[0].id).status == "accepted",
            "the proposal is not accepted",
        )
        plan = self.workspace.get(Plan, self.plan_id)
        titles = [task.title for task in plan.data.tasks.values()]
        expect(titles == [REQUEST], "the accepted task is not in the plan")


class _Hidden(HTMLParser):
    """Collects what a form sends without being typed."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "input" and found.get("type") == "hidden" and (name := found.get("name")):
            self.fields[name] = found.get("value") or ""


def hidden_fields(html: str) -> dict[str, str]:
    """The hidden inputs of a page, as a browser would send them back."""
    parser = _Hidden()
    parser.feed(html)
    return parser.fields


def _second_draft(doc: Any) -> None:
    doc.text += "\n\nSecond draft, by a person."


def expect(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise NotAsTold(otherwise)
