"""Who may reach what: tenants, their workspaces, memberships and API keys."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from artifacts import triggers
from artifacts.core.ids import new_id

ID_LENGTH = 128


class Role(models.TextChoices):
    """What a member or a key may do; `artifacts.access` has the table."""

    VIEWER = "viewer", _("viewer")
    EDITOR = "editor", _("editor")
    REVIEWER = "reviewer", _("reviewer")
    ADMIN = "admin", _("admin")


def new_tenant_id() -> str:
    return new_id("ten")


def new_workspace_id() -> str:
    return new_id("wsp")


class Tenant(models.Model):
    """The outermost wall: nothing is shared between two tenants."""

    public_id = models.CharField(max_length=ID_LENGTH, unique=True, default=new_tenant_id)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Workspace(models.Model):
    """Holds artifacts, threads and one log.

    `head_seq` and `head_chain` are the log's last number and hash; only the insert of an event
    moves them. `kinds` is a JSON list of the kinds that may be created, null for all.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="workspaces")
    public_id = models.CharField(max_length=ID_LENGTH, unique=True, default=new_workspace_id)
    name = models.CharField(max_length=200)
    kinds = models.JSONField(null=True, blank=True, default=None)
    head_seq = models.BigIntegerField(default=0, editable=False)
    head_chain = models.BinaryField(default=b"", editable=False)
    last_event_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        triggers = [triggers.log_head()]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in one workspace."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="artifactr_memberships"
    )
    role = models.CharField(max_length=16, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="artifactr_membership_once")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace}: {self.role}"


class ApiKey(models.Model):
    """A program's credential. Only the hash of its secret is kept.

    States: usable, expired (`expires_at` passed), revoked (`revoked_at` set).
    """

    key_id = models.CharField(max_length=8, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="api_keys")
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, null=True, blank=True, related_name="api_keys"
    )
    name = models.CharField(max_length=100)
    role = models.CharField(max_length=16, choices=Role.choices)
    actor = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return f"{self.name} (ak_{self.key_id})"
