"""Which workspaces a principal reaches, and what each looks like to it."""

from __future__ import annotations

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from .. import models
from ..access import Access
from ..core.errors import Forbidden, ValidationFailed
from ..core.values import Id, Value
from ..workspace import Workspace
from .authentication import Principal


class WorkspaceInfo(Value):
    """A workspace as its reader sees it; without a `role` it can only be read."""

    id: Id
    tenant_id: Id
    name: str
    role: str | None = None
    head_seq: int


def reachable(principal: Principal, *, after: str | None, limit: int) -> list[WorkspaceInfo]:
    """A page of workspaces, oldest first; what the host refuses to show is left out."""
    rows = _reached_by(principal)
    if after is not None:
        last = rows.filter(public_id=after).values_list("pk", flat=True).first()
        if last is None:
            raise ValidationFailed.at(["after"], "names nothing in this list")
        rows = rows.filter(pk__gt=last)
    found = [_info(row, role=principal.role or row.role) for row in rows.order_by("pk")[:limit]]
    return [info for info in found if _may_see(principal, info)]


def describe(workspace: Workspace) -> WorkspaceInfo:
    """The workspace behind an open door."""
    workspace.require("read_workspace")
    row = models.Workspace.objects.select_related("tenant").get(pk=workspace.pk)
    return _info(row, role=workspace.access.role if workspace.access else None)


def within(principal: Principal) -> QuerySet[models.Workspace]:
    """The workspaces that a credential is not bound away from; memberships are not asked."""
    rows = models.Workspace.objects.select_related("tenant")
    if principal.tenant_id is not None:
        rows = rows.filter(tenant__public_id=principal.tenant_id)
    if principal.workspace_id is not None:
        rows = rows.filter(public_id=principal.workspace_id)
    return rows


def _reached_by(principal: Principal) -> QuerySet[Any]:
    memberships = models.Membership.objects.filter(
        workspace=OuterRef("pk"), user_id=getattr(principal.user, "pk", 0)
    )
    rows = within(principal).annotate(role=Subquery(memberships.values("role")))
    if principal.role is not None or principal.reads_all:
        return rows
    return rows.filter(role__isnull=False)


def _info(row: models.Workspace, *, role: str | None) -> WorkspaceInfo:
    return WorkspaceInfo(
        id=row.public_id,
        tenant_id=row.tenant.public_id,
        name=row.name,
        role=role,
        head_seq=row.head_seq,
    )


def _may_see(principal: Principal, info: WorkspaceInfo) -> bool:
    access = Access(actor=principal.actor, role=info.role, reads_all=principal.reads_all)
    try:
        access.require("read_workspace", info)
    except Forbidden:
        return False
    return True
