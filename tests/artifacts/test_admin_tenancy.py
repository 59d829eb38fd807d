"""Tenants, workspaces, members and keys: who may manage them, and that a secret is shown once."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.urls import reverse

from artifacts.core import SystemActor
from artifacts.keys import create_key, find_key
from artifacts.models import ApiKey, Membership, Tenant, Workspace
from tests.support.desk import Desk, make_desk

KEYS = reverse("admin:artifactr_apikey_changelist")
KEY = re.compile(r"ak_[0-9a-f]{8}\.[A-Za-z0-9_-]{43}")


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    return make_desk()


def add_key(desk: Desk, by: str, **changed: Any) -> Any:
    sent = {
        "workspace": desk.row.pk,
        "name": "importer",
        "role": "editor",
        "acts_as": "external_agent",
        "identity": "importer",
        "expires_at_0": "",
        "expires_at_1": "",
        **changed,
    }
    return desk.client(by).post(reverse("admin:artifactr_apikey_add"), sent)


@pytest.mark.parametrize("name", ["root", "mia"])
def test_a_new_key_is_shown_once(desk: Desk, name: str) -> None:
    more = {"tenant": desk.row.tenant.pk} if name == "root" else {}
    page = add_key(desk, name, **more)
    assert page.status_code == 200
    text = KEY.search(page.content.decode())
    assert text is not None
    assert "no-store" in page.headers["Cache-Control"]
    key = find_key(text.group())
    assert key is not None
    assert (key.name, key.role, key.workspace, key.tenant) == (
        "importer", "editor", desk.row, desk.row.tenant,
    )  # fmt: skip
    assert key.actor == '{"kind":"external_agent","client_id":"importer"}'
    secret = text.group().partition(".")[2]
    assert key.secret_sha256 == hashlib.sha256(secret.encode()).hexdigest()
    change = reverse("admin:artifactr_apikey_change", args=[key.pk])
    for url in (KEYS, change, reverse("admin:index")):
        assert secret not in desk.client(name).get(url).content.decode()
    kept = [entry.change_message + entry.object_repr for entry in LogEntry.objects.all()]
    kept += [str(session.get_decoded()) for session in Session.objects.all()]
    assert not any(secret in each for each in kept)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": ""}, "This field is required"),
        ({"role": "owner"}, "not one of the available choices"),
        ({"acts_as": "user"}, "not one of the available choices"),
        ({"identity": "a/b"}, "must not contain"),
        ({"expires_at_0": "2001-01-01", "expires_at_1": "00:00"}, "This moment has passed"),
        ({"workspace": ""}, "This field is required"),
    ],
)
def test_a_key_that_cannot_be(desk: Desk, changed: dict[str, str], told: str) -> None:
    page = add_key(desk, "mia", **changed)
    assert told in page.content.decode()
    assert not ApiKey.objects.exists()


def test_a_workspaces_admin_reaches_no_other(desk: Desk) -> None:
    page = add_key(desk, "mia", workspace=desk.elsewhere.pk)
    assert "not one of the available choices" in page.content.decode()
    # A key of the whole tenant is a superuser's to make, whatever a form sends.
    page = add_key(desk, "mia", workspace="", tenant=desk.elsewhere.tenant.pk)
    assert not ApiKey.objects.exists()
    page = add_key(desk, "root", tenant=desk.elsewhere.tenant.pk)
    assert "belongs to another tenant" in page.content.decode()
    theirs, _ = create_key(
        tenant=desk.elsewhere.tenant, workspace=desk.elsewhere, name="theirs", role="viewer",
        actor=SystemActor(),
    )  # fmt: skip
    assert "theirs" not in desk.client("mia").get(KEYS).content.decode()
    bulk = {"action": "revoke", "_selected_action": [theirs.pk]}
    desk.client("mia").post(KEYS, bulk)
    assert ApiKey.objects.get().revoked_at is None


def test_a_key_is_revoked_and_never_changed(desk: Desk) -> None:
    key, text = create_key(
        tenant=desk.row.tenant, workspace=desk.row, name="k", role="viewer", actor=SystemActor()
    )
    change = reverse("admin:artifactr_apikey_change", args=[key.pk])
    assert desk.client("mia").post(change, {"role": "admin", "name": "x"}).status_code == 403
    delete = reverse("admin:artifactr_apikey_delete", args=[key.pk])
    assert desk.client("mia").post(delete, {"post": "yes"}).status_code == 403
    page = desk.client("mia").post(
        KEYS, {"action": "revoke", "_selected_action": [key.pk]}, follow=True
    )
    assert "1 key revoked." in page.content.decode()
    assert find_key(text) is None
    assert (ApiKey.objects.get().role, ApiKey.objects.get().name) == ("viewer", "k")


@pytest.mark.parametrize("name", ["ana", "ben", "vera", "nora"])
def test_others_manage_nothing(desk: Desk, name: str) -> None:
    for model in ("tenant", "workspace", "membership", "apikey"):
        assert (
            desk.client(name).get(reverse(f"admin:artifactr_{model}_changelist")).status_code == 403
        )
        assert (
            desk.client(name).post(reverse(f"admin:artifactr_{model}_add"), {}).status_code == 403
        )


def test_tenants_and_workspaces_are_a_superusers(desk: Desk) -> None:
    for model in ("tenant", "workspace"):
        url = reverse(f"admin:artifactr_{model}_changelist")
        assert desk.client("mia").get(url).status_code == 403
        assert desk.client("root").get(url).status_code == 200
    root = desk.client("root")
    root.post(reverse("admin:artifactr_tenant_add"), {"name": "New"})
    tenant = Tenant.objects.get(name="New")
    sent = {
        "name": "Room",
        "tenant": tenant.pk,
        "kinds": ["paper"],
        "head_seq": 9,
        "public_id": "x",
    }
    root.post(reverse("admin:artifactr_workspace_add"), sent)
    room = Workspace.objects.get(name="Room")
    assert (room.tenant, room.kinds, room.head_seq) == (tenant, ["paper"], 0)
    assert room.public_id.startswith("wsp_")
    change = reverse("admin:artifactr_workspace_change", args=[room.pk])
    root.post(change, {"name": "Hall", "tenant": desk.row.tenant.pk, "kinds": []})
    room.refresh_from_db()
    assert (room.name, room.tenant, room.kinds) == ("Hall", tenant, None)
    delete = reverse("admin:artifactr_workspace_delete", args=[room.pk])
    assert root.post(delete, {"post": "yes"}).status_code == 403


def test_members_are_named_by_user_name(desk: Desk) -> None:
    url, mia = reverse("admin:artifactr_membership_add"), desk.client("mia")
    sent = {"workspace": desk.row.pk, "username": "nora", "role": "reviewer"}
    assert mia.post(url, sent).status_code == 302
    added = Membership.objects.get(user=desk.users["nora"])
    assert (added.workspace, added.role) == (desk.row, "reviewer")
    assert "is a member already" in mia.post(url, sent).content.decode()
    assert "no user of this name" in mia.post(url, {**sent, "username": "x"}).content.decode()
    elsewhere = mia.post(url, {**sent, "workspace": desk.elsewhere.pk, "username": "vera"})
    assert "not one of the available choices" in elsewhere.content.decode()
    # Only the role of a membership changes: it is not moved to another person or place.
    change = reverse("admin:artifactr_membership_change", args=[added.pk])
    moved = {"workspace": desk.elsewhere.pk, "user": desk.users["ben"].pk, "role": "viewer"}
    assert mia.post(change, moved).status_code == 302
    added.refresh_from_db()
    assert (added.workspace, added.user, added.role) == (desk.row, desk.users["nora"], "viewer")
    theirs = Membership.objects.get(user=desk.users["otto"])
    assert (
        mia.get(reverse("admin:artifactr_membership_change", args=[theirs.pk])).status_code == 302
    )
    delete = reverse("admin:artifactr_membership_delete", args=[theirs.pk])
    mia.post(delete, {"post": "yes"})
    assert Membership.objects.filter(pk=theirs.pk).exists()
    mia.post(reverse("admin:artifactr_membership_delete", args=[added.pk]), {"post": "yes"})
    assert not Membership.objects.filter(pk=added.pk).exists()
