"""From a credential to a principal, and from a principal to a workspace it may reach.

Independent of DRF up to `PrincipalAuthentication`, so that sockets resolve callers the same way. A
workspace that is unknown, another tenant's or without a membership is one and the same `not_found`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from .. import conf
from ..access import Access
from ..core.actors import Actor, UserActor, actor_adapter
from ..core.errors import ArtifactrError, ConfigurationError, NotFound
from ..keys import find_key
from ..models import Membership
from ..workspace import Workspace, open_workspace


class Unauthorized(ArtifactrError):
    """A valid credential is needed."""

    code = "unauthorized"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who a credential stands for, and how far it reaches.

    With a `role`, that in every workspace of the tenant (or in the one named); without, the
    memberships of `user` say. `key_id` names the API key it came by, if it was one.
    """

    actor: Actor
    tenant_id: str | None = None
    workspace_id: str | None = None
    role: str | None = None
    user: Any = None
    key_id: str | None = None

    def __post_init__(self) -> None:
        if self.role is not None and self.tenant_id is None:
            raise ConfigurationError("a principal with a role must be of one tenant")

    @property
    def reads_all(self) -> bool:
        """Superusers read everything; they decide only with a membership."""
        return bool(getattr(self.user, "is_superuser", False))


def actor_for_user(user: Any) -> UserActor:
    """How a signed-in user stands in the log; the id stays when the user is deleted."""
    # A host's own user model need not know full names.
    full_name = user.get_full_name() if hasattr(user, "get_full_name") else ""
    name = (full_name or user.get_username())[:200]
    return UserActor(id=str(user.pk), name=name or None)


def principal_of(source: Any, *, authorization: str | None, user: Any) -> Principal:
    """Whoever sent this request or opened this scope, or `unauthorized`.

    A header that was sent decides alone: falling back to the session would hide a wrong key.
    """
    resolve = conf.function("RESOLVE_ACTOR")
    if resolve is not None:
        principal = resolve(source)
        if principal is None:
            raise Unauthorized
        return principal
    if authorization is not None:
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized("only the Bearer scheme is spoken here")
        return principal_for_key(text.strip())
    if user is None or not user.is_authenticated:
        raise Unauthorized
    return principal_for_user(user)


def principal_for_user(user: AbstractBaseUser) -> Principal:
    """A person, who reaches the workspaces of their memberships."""
    describe = conf.function("ACTOR_FOR_USER")
    assert describe is not None
    return Principal(actor=describe(user), user=user)


def principal_for_key(text: str) -> Principal:
    """A program, which reaches its key's tenant, or one workspace of it."""
    key = find_key(text)
    if key is None:
        raise Unauthorized("this API key is unknown, expired or revoked")
    return Principal(
        actor=actor_adapter.validate_json(key.actor),
        tenant_id=key.tenant.public_id,
        workspace_id=key.workspace.public_id if key.workspace else None,
        role=key.role,
        key_id=key.key_id,
    )


def access_for(principal: Principal, workspace_id: str) -> Access:
    """What the principal may do there; a role of its own is bound to its tenant by the door."""
    if principal.workspace_id not in (None, workspace_id):
        raise NotFound("workspace", workspace_id)
    if principal.role is not None:
        return Access(actor=principal.actor, role=principal.role)
    role = _member_role(principal.user, workspace_id)
    if role is None and not principal.reads_all:
        raise NotFound("workspace", workspace_id)
    return Access(actor=principal.actor, role=role, reads_all=principal.reads_all)


def _member_role(user: Any, workspace_id: str) -> str | None:
    if user is None:
        return None
    found = Membership.objects.filter(workspace__public_id=workspace_id, user_id=user.pk)
    return found.values_list("role", flat=True).first()


def open_for(principal: Principal, workspace_id: str) -> Workspace:
    """The door of a workspace for this caller."""
    if not 0 < len(workspace_id) <= 128 or "\0" in workspace_id:
        raise NotFound("workspace", workspace_id)
    return open_workspace(
        workspace_id,
        actor=principal.actor,
        tenant_id=principal.tenant_id,
        access=access_for(principal, workspace_id),
    )


class PrincipalAuthentication(BaseAuthentication):
    """DRF's way to all of the above; `request.auth` is the principal."""

    def authenticate(self, request: Request) -> tuple[Any, Principal]:
        http: HttpRequest = request._request
        authorization = http.headers.get("Authorization")
        principal = principal_of(
            http, authorization=authorization, user=getattr(http, "user", None)
        )
        if authorization is None and http.COOKIES:
            # Browsers send cookies along from anywhere, so whoever came by one proves its origin.
            _enforce_csrf(http)
        return principal.user or AnonymousUser(), principal

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


CHALLENGE = 'Bearer realm="artifactr"'


def _enforce_csrf(request: HttpRequest) -> None:
    check = CSRFCheck(lambda _: None)  # type: ignore[arg-type]
    check.process_request(request)
    if reason := check.process_view(request, None, (), {}):  # type: ignore[arg-type]
        raise PermissionDenied(f"CSRF: {reason}")
