"""What a signed-in person reaches in the admin: their workspaces, their role in each, less what the
host hides from them. One instance per request, so that a page asks once."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest

from ..access import Access
from ..conf import settings
from ..core.errors import Forbidden, NotFound
from ..core.visibility import SEPARATOR, Hidden
from ..models import Membership, Workspace
from ..workspace import Workspace as Door
from .authentication import Principal, Unauthorized, open_for, principal_of
from .reach import within

M = TypeVar("M", bound=Model)


class Reach:
    """Answers for one principal; a superuser reads all and decides only with a membership."""

    def __init__(self, principal: Principal | None) -> None:
        self.principal = principal

    @cached_property
    def roles(self) -> dict[int, str]:
        """The caller's own memberships: role by the key of the workspace."""
        user = self.principal.user if self.principal else None
        if user is None:
            return {}
        return dict(Membership.objects.filter(user_id=user.pk).values_list("workspace_id", "role"))

    @property
    def reads_all(self) -> bool:
        return self.principal is not None and self.principal.reads_all

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing for this person here at all."""
        if self.principal is None:
            return True
        return self.principal.role is None and not self.reads_all and not self.roles

    def may(self, action: str) -> bool:
        """Whether a role of the caller's allows this in some workspace; the host is not asked."""
        if self.principal is None:
            return False
        actor, own = self.principal.actor, self.principal.role
        roles = {own} if own is not None else set(self.roles.values())
        return any(Access(actor=actor, role=role).allows(action) for role in roles)

    @property
    def workspaces(self) -> QuerySet[Workspace]:
        """Every workspace the caller may see."""
        if self.principal is None:
            return Workspace.objects.none()
        found = within(self.principal).order_by("name", "pk")
        if self.principal.role is not None or self.reads_all:
            return found
        return found.filter(pk__in=list(self.roles))

    @property
    def administered(self) -> QuerySet[Workspace]:
        """The workspaces whose members and keys the caller may manage."""
        if self.reads_all:
            return self.workspaces
        managed = [pk for pk, role in self.roles.items() if role == "admin"]
        return self.workspaces.filter(pk__in=managed)

    def open(self, workspace_id: str) -> Door:
        """The workspace's door for the caller, or 404."""
        if self.principal is None:
            raise Http404
        try:
            return open_for(self.principal, workspace_id)
        except NotFound:
            raise Http404 from None

    def narrow(
        self,
        rows: QuerySet[M],
        *,
        action: str,
        artifact: str | None = None,
        thread: str | None = None,
        mentions: str | None = None,
    ) -> QuerySet[M]:
        """Only rows the caller may read by `action`, without those that name what is hidden.

        `artifact` and `thread` are the columns that hold an id, `mentions` the one of many.
        """
        rows = rows.filter(self._mine(action))
        hidden = self._unseen(artifact, thread, mentions)
        return rows.exclude(hidden) if hidden else rows

    def hidden(self, row: Workspace) -> Hidden:
        """What the host hides from the caller in one workspace."""
        return self._access(row).hidden(_Place(row))

    def _access(self, row: Workspace) -> Access:
        assert self.principal is not None
        role = self.principal.role or self.roles.get(row.pk)
        return Access(actor=self.principal.actor, role=role, reads_all=self.reads_all)

    def _mine(self, action: str) -> Q:
        if self.principal is None:
            return Q(pk__in=[])
        if settings().AUTHORIZE is not None:
            return Q(workspace__in=[row.pk for row in self.workspaces if self._reads(row, action)])
        if self.principal.tenant_id is not None:
            return Q(workspace__in=self.workspaces.order_by().values("pk"))
        return Q() if self.reads_all else Q(workspace__in=list(self.roles))

    def _reads(self, row: Workspace, action: str) -> bool:
        try:
            self._access(row).require(action, _Place(row))
        except Forbidden:
            return False
        return True

    def _unseen(self, artifact: str | None, thread: str | None, mentions: str | None) -> Q:
        found = Q()
        if settings().HIDDEN is None or self.principal is None:
            return found
        for place in self.workspaces:
            hidden = self.hidden(place)
            here = _names(artifact, hidden.artifacts) | _names(thread, hidden.threads)
            if mentions:
                here |= _mention_any(mentions, hidden.threads)
                # As in core's `visible_text`: a change of focus only loses the hidden artifacts.
                here |= _mention_any(mentions, hidden.artifacts) & ~Q(type="focus_changed")
            if here:
                found |= Q(workspace=place.pk) & here
        return found


def reach_of(request: HttpRequest) -> Reach:
    """The reach of whoever sent this request, worked out once."""
    known: Reach | None = getattr(request, "_artifactr_reach", None)
    if known is None:
        try:
            principal = principal_of(request, authorization=None, user=request.user)
        except Unauthorized:
            principal = None
        known = Reach(principal)
        request._artifactr_reach = known  # type: ignore[attr-defined]
    return known


class _Place:
    """A workspace row as the host's functions know it."""

    def __init__(self, row: Workspace) -> None:
        self.id, self.tenant_id = row.public_id, row.tenant.public_id


def _names(column: str | None, ids: frozenset[str]) -> Q:
    # A null id is not among the hidden ones: said so, or SQL's NULL hides the row.
    if column is None or not ids:
        return Q()
    return Q(**{f"{column}__in": sorted(ids), f"{column}__isnull": False})


def _mention_any(column: str, ids: frozenset[str]) -> Q:
    """Whether a list of ids, as `visibility` joins them, holds one of these."""
    found = Q(pk__in=[])
    for id in sorted(ids):
        found |= Q(**{column: id})
        found |= Q(**{f"{column}__startswith": id + SEPARATOR})
        found |= Q(**{f"{column}__endswith": SEPARATOR + id})
        found |= Q(**{f"{column}__contains": SEPARATOR + id + SEPARATOR})
    return found
