"""A workspace with its people, and callers of the REST surface for each of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client

from artifacts.core import (
    Artifact,
    ExternalAgentActor,
    Feedback,
    MarkdownArtifact,
    SystemActor,
    UserActor,
)
from artifacts.core.actors import Actor
from artifacts.keys import create_key
from artifacts.models import Membership, Tenant, Workspace
from artifacts.workspace import Workspace as Door
from artifacts.workspace import open_workspace

PREFIX = "/api/v1/workspaces/"


class RestNote(MarkdownArtifact, name="rest_note"):
    title: str = ""
    tags: list[str] = []


class RestPolicy(Artifact, name="rest_policy"):
    """A kind that agents only suggest changes to."""

    write_policy = "propose"
    rule: str = ""


class RestRating(Feedback, name="rest_rating", targets={"artifact", "thread", "turn", "message"}):
    stars: int


@dataclass
class Answer:
    """A response, with its JSON read."""

    status: int
    body: Any
    headers: Any
    text: str

    @property
    def code(self) -> str:
        """The code of a problem."""
        assert self.headers["Content-Type"] == "application/problem+json"
        assert self.body["status"] == self.status
        code: str = self.body["code"]
        return code


@dataclass
class Caller:
    """Somebody with a credential, at one workspace."""

    base: str
    client: Client = field(default_factory=Client)
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(
        self,
        method: str,
        path: str = "",
        body: Any = None,
        *,
        raw: Any = None,
        **headers: str,
    ) -> Answer:
        if raw is None:
            raw = b"" if body is None else json.dumps(body).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self.client.generic(
            method,
            path if path.startswith("/") else self.base + path,
            raw,
            names.pop("Content-Type", "application/json"),
            headers={**self.headers, **names},
        )
        is_json = "json" in response.headers.get("Content-Type", "")
        return Answer(
            response.status_code,
            response.json() if is_json and response.content else None,
            response.headers,
            response.content.decode(),
        )

    def get(self, path: str = "", **headers: str) -> Answer:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self("POST", path, body, **headers)

    def command(self, command: dict[str, Any], **members: Any) -> Answer:
        return self("POST", "commands/", {"command": command, **members})


@dataclass
class Cast:
    """Ana reviews, Ben edits, Vera views, Otto is of another tenant, Root only reads,
    Sam is a member of nothing."""

    tenant: Tenant
    workspace: Workspace
    elsewhere: Workspace
    ana: Caller
    ben: Caller
    vera: Caller
    otto: Caller
    root: Caller
    stranger: Caller
    nobody: Caller

    @property
    def door(self) -> Door:
        """The same workspace from inside, as the system."""
        return open_workspace(self.workspace.public_id, actor=SystemActor())

    @property
    def base(self) -> str:
        return f"{PREFIX}{self.workspace.public_id}/"

    def key(self, role: str, *, actor: Actor | None = None, scope: str = "workspace") -> Caller:
        """A caller by API key, for this workspace or for all of its tenant."""
        _, text = create_key(
            tenant=self.tenant,
            workspace=self.workspace if scope == "workspace" else None,
            name=f"{role} key",
            role=role,
            actor=actor or SystemActor(name=f"key/{role}"),
        )
        return Caller(self.base, headers={"Authorization": f"Bearer {text}"})

    def client_of(self, person: str) -> Caller:
        """The outside agent of a person, let in as a reviewer."""
        user = get_user_model().objects.get(username=person)
        actor = ExternalAgentActor(
            client_id=f"cli_{person}", on_behalf_of=UserActor(id=str(user.pk))
        )
        return self.key("reviewer", actor=actor)


def make_cast() -> Cast:
    """Two tenants, a workspace in each, and everybody signed in."""
    tenant, other = Tenant.objects.create(name="Here"), Tenant.objects.create(name="There")
    workspace = Workspace.objects.create(tenant=tenant, name="Ours", public_id="wsp_ours")
    elsewhere = Workspace.objects.create(tenant=other, name="Theirs", public_id="wsp_theirs")
    base = f"{PREFIX}{workspace.public_id}/"

    def person(name: str, role: str | None, *, at: Workspace = workspace, **flags: Any) -> Caller:
        user = get_user_model().objects.create_user(name, **flags)
        if role:
            Membership.objects.create(workspace=at, user=user, role=role)
        client = Client()
        client.force_login(user)
        return Caller(base, client)

    return Cast(
        tenant=tenant,
        workspace=workspace,
        elsewhere=elsewhere,
        ana=person("ana", "reviewer"),
        ben=person("ben", "editor"),
        vera=person("vera", "viewer"),
        otto=person("otto", "admin", at=elsewhere),
        root=person("root", None, is_superuser=True),
        stranger=person("sam", None),
        nobody=Caller(base),
    )
