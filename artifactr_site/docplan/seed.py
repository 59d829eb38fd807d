"""What the demo starts with: a document, a plan and a thread, and somebody to sign in."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction

from artifacts import core
from artifacts.models import Membership, Role, Tenant, Workspace
from artifacts.surfaces.authentication import open_for, principal_for_user
from artifacts.workspace import Workspace as Door

WORKSPACE_ID, THREAD_ID, DOC_ID, PLAN_ID = "demo", "demo_thread", "demo_doc", "demo_plan"
USERNAME = "admin"
TEXT = """# Launch notes

Write here what the launch is about. The agent reads this text and edits it with you."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to sign in; without a password, somebody changed or mislaid it."""

    username: str
    password: str | None


def seed() -> Login:
    """Make what is missing, change nothing that is there."""
    login = _login()
    if not Workspace.objects.filter(public_id=WORKSPACE_ID).exists():
        person = get_user_model().objects.get(username=USERNAME)
        _content(person_in(new_place(person, name="Demo", workspace_id=WORKSPACE_ID), person))
    return login


def new_place(person: User, *, name: str, workspace_id: str | None = None) -> Workspace:
    """A tenant of its own with one workspace, which `person` administers."""
    with transaction.atomic():
        tenant = Tenant.objects.create(name=name)
        ids = {"public_id": workspace_id} if workspace_id else {}
        workspace = Workspace.objects.create(tenant=tenant, name=name, **ids)
        Membership.objects.create(workspace=workspace, user=person, role=Role.ADMIN)
    return workspace


def let_reviewer_in(workspace: Workspace) -> None:
    """Whoever signs in to the demo, if it was ever started, may decide in a story too."""
    for person in get_user_model().objects.filter(username=USERNAME):
        Membership.objects.create(workspace=workspace, user=person, role=Role.REVIEWER)


def person_in(workspace: Workspace, person: User) -> Door:
    """The workspace as this person may use it."""
    return open_for(principal_for_user(person), workspace.public_id)


def password_file() -> Path:
    """Where the generated password is kept, readable by its owner alone."""
    return Path(settings.STATE_DIR) / "demo_password"


def _login() -> Login:
    users, kept = get_user_model().objects, password_file()
    person = users.filter(username=USERNAME).first()
    if person is None:
        password = secrets.token_urlsafe(12)
        users.create_superuser(username=USERNAME, password=password, first_name="Demo admin")
        kept.touch(mode=0o600)
        kept.write_text(password)
        return Login(USERNAME, password)
    password = kept.read_text() if kept.exists() else ""
    return Login(USERNAME, password if person.check_password(password) else None)


def _content(door: Door) -> None:
    door.commit_all(
        [
            core.CreateArtifact(artifact_id=DOC_ID, kind="doc", data={"text": TEXT}),
            core.CreateArtifact(artifact_id=PLAN_ID, kind="plan", data={"goal": "Launch"}),
            core.CreateThread(thread_id=THREAD_ID, title="Launch"),
            core.SetFocus(thread_id=THREAD_ID, artifact_ids=(DOC_ID, PLAN_ID)),
        ]
    )
