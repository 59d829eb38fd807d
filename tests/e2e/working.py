"""The demo's page in a browser, and the agent's side of what happens on it, recorded by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from playwright.sync_api import Page

from artifactr_site.docplan.artifact_types import Doc, Plan
from artifacts import core
from artifacts.surfaces.authentication import actor_for_user
from artifacts.workspace import Workspace
from tests.e2e.conftest import Place, session_of
from tests.support import browser, live

DOC, PLAN, THREAD = "art_doc", "art_plan", "thr_launch"
TEXT = "# Launch\n\nIt ships in March.\n\n## Open points\n\n- Who may use it?\n"


@dataclass
class Room:
    """A workspace with a document, a plan and a chat, and a person of it."""

    place: Place
    server: live.Server
    person: core.UserActor
    session: str

    @property
    def url(self) -> str:
        return f"{self.server.url}/w/{self.place.id}/"

    @property
    def mine(self) -> Workspace:
        """The workspace in the person's hands."""
        return self.place.workspace.as_actor(self.person)

    def agent(self, run_id: str | None = None) -> Workspace:
        actor = core.AgentActor(thread_id=THREAD, run_id=run_id, on_behalf_of=self.person)
        return self.place.workspace.as_actor(actor)

    def start_run(self) -> str:
        return self.place.start_run(THREAD, person=self.person)

    def end_run(self, run_id: str, reply: str = "") -> None:
        agent = self.agent(run_id)
        if reply:
            agent.commit(core.PostMessage(thread_id=THREAD, content=reply))
        agent.record(core.RunEnded(run_id=run_id, thread_id=THREAD, status="completed"))

    def pause(self, *requests: core.DeferredRequest) -> str:
        run_id = self.start_run()
        paused = core.RunPaused(run_id=run_id, thread_id=THREAD, requests=requests)
        self.agent(run_id).record(paused)
        return run_id

    def produce(self, run_id: str, *events: dict[str, Any], close: bool = False) -> None:
        """Live frames of a run, made where the agent would be."""
        url = f"{self.server.url}/produce/{self.place.id}/{run_id}{'?close' if close else ''}"
        httpx.post(url, json=list(events), timeout=60).raise_for_status()

    def doc(self) -> str:
        return self.mine.get(Doc, DOC).data.text

    def write(self, old: str, new: str, *, by: Workspace | None = None) -> None:
        doc = self.mine.get(Doc, DOC)

        def replaced(draft: Doc) -> None:
            draft.text = draft.text.replace(old, new)

        (by or self.place.workspace).commit(doc.edit(replaced))

    def propose_task(self, title: str, *, proposal_id: str = "prp_task", **more: Any) -> None:
        plan = self.mine.get(Plan, PLAN)
        change = plan.edit(lambda draft: draft.add_task(title))
        self.agent(more.pop("run_id", None)).commit(
            core.ProposeChange(proposal_id=proposal_id, change=change, **more)
        )


def make_room(place: Place, server: live.Server, role: str = "admin") -> Room:
    user, signed_in = place.person("ana", role)
    user.first_name = "Ana"
    user.save()
    room = Room(place, server, actor_for_user(user), session_of(signed_in))
    room.mine.commit_all(
        [
            core.CreateArtifact(artifact_id=DOC, kind="doc", data={"text": TEXT}),
            core.CreateArtifact(
                artifact_id=PLAN, kind="plan",
                data={"goal": "Launch", "tasks": {"t1": {"title": "Announce it"}}},
            ),
            core.CreateThread(thread_id=THREAD, title="Launch"),
            core.SetFocus(thread_id=THREAD, artifact_ids=(DOC, PLAN)),
        ]
    )  # fmt: skip
    return room


@contextmanager
def opened(room: Room, **options: Any) -> Iterator[Page]:
    """The page, once it is live; what its console complains about fails the test."""
    with browser.page() as (page, complaints):
        page.set_default_timeout(60_000)
        page.set_viewport_size(options.get("size", {"width": 1280, "height": 800}))
        page.emulate_media(color_scheme=options.get("scheme", "light"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.context.add_cookies(
            [{"name": "sessionid", "value": room.session, "url": room.server.url}]
        )
        page.goto(room.url)
        is_live(page)
        yield page
        # The browser itself says so when a server is away.
        unexpected = [each for each in complaints if "ERR_CONNECTION" not in each]
        assert [each for each in unexpected if "WebSocket connection" not in each] == []


def is_live(page: Page) -> None:
    browser.until(page, "!!document.querySelector('#connection.is-live')", seconds=60)
