"""The people of the admin's tests as real accounts, and a form filled in as a browser would."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from artifacts import models
from artifacts.core import AgentActor, CreateThread, UserActor
from artifacts.surfaces.authentication import actor_for_user
from artifacts.workspace import Workspace, open_workspace

THREAD = "thr_desk"
HIDDEN_INPUT = re.compile(r'<input type="hidden"[^>]*? name="([^"]+)" value="([^"]*)"')
TEXTAREA = re.compile(r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)


@dataclass
class Desk:
    """Ana reviews, Ben edits, Vera views, Mia administers, Otto is of another tenant, Root is a
    superuser without a membership, Nora staff without one, Sam a member who is no staff."""

    row: models.Workspace
    elsewhere: models.Workspace
    users: dict[str, Any]
    clients: dict[str, Client] = field(default_factory=dict)

    def actor(self, name: str) -> UserActor:
        return actor_for_user(self.users[name])

    def door(self, name: str = "ben") -> Workspace:
        """The workspace in this person's hands, as trusted code."""
        row = self.elsewhere if name == "otto" else self.row
        return open_workspace(row.public_id, actor=self.actor(name))

    def scribe(self, *, run_id: str | None = None) -> Workspace:
        """The workspace in the hands of the thread's agent, working for Ben."""
        agent = AgentActor(
            thread_id=THREAD, run_id=run_id, name="scribe", on_behalf_of=self.actor("ben")
        )
        return self.door().as_actor(agent)

    def client(self, name: str) -> Client:
        if name not in self.clients:
            self.clients[name] = Client()
            self.clients[name].force_login(self.users[name])
        return self.clients[name]

    def page(self, proposal_id: str, *, group: bool = False) -> str:
        """The URL that decides a proposal."""
        row = models.Proposal.objects.get(public_id=proposal_id)
        name = "decide_group" if group else "decide"
        return reverse(f"admin:artifactr_proposal_{name}", args=[row.pk])

    def form(self, url: str, name: str = "ana") -> dict[str, str]:
        """The fields of a decision page as it stands."""
        text = self.client(name).get(url).content.decode()
        return fields_of(text)

    def decide(self, url: str, name: str = "ana", **typed: str) -> Any:
        """Open the page, type, send, and follow to the result."""
        filled = {**self.form(url, name), **typed}
        return self.client(name).post(url, filled, follow=True)


def fields_of(text: str) -> dict[str, str]:
    """What a browser would send for a page's form."""
    found = dict(HIDDEN_INPUT.findall(text))
    found |= dict(TEXTAREA.findall(text))
    found.pop("csrfmiddlewaretoken", None)
    return {
        name: unescape(value).replace("\r\n", "\n").replace("\n", "\r\n")
        for name, value in found.items()
    }


def make_desk() -> Desk:
    """Two tenants, and everybody with what they may do."""
    row, elsewhere = (_workspace(name) for name in ("Desk", "Elsewhere"))
    users = {name: _user(name) for name in ("ana", "ben", "vera", "mia", "otto", "nora")}
    users["root"] = _user("root", is_superuser=True)
    users["sam"] = _user("sam", is_staff=False)
    roles = {"ana": "reviewer", "ben": "editor", "vera": "viewer", "mia": "admin", "sam": "admin"}
    for name, role in roles.items():
        models.Membership.objects.create(workspace=row, user=users[name], role=role)
    models.Membership.objects.create(workspace=elsewhere, user=users["otto"], role="admin")
    desk = Desk(row, elsewhere, users)
    desk.door().commit(CreateThread(thread_id=THREAD, title="Planning <b>it</b>"))
    return desk


def _workspace(name: str) -> models.Workspace:
    tenant = models.Tenant.objects.create(name=name)
    return models.Workspace.objects.create(tenant=tenant, name=name)


def _user(name: str, *, is_staff: bool = True, is_superuser: bool = False) -> Any:
    return get_user_model()._default_manager.create_user(
        username=name,
        first_name=name.capitalize(),
        password="not-a-secret",
        is_staff=is_staff,
        is_superuser=is_superuser,
    )
