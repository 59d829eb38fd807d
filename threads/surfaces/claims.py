"""By what right a connection is open, and whether it still is: asked of all of them together.

The code with which a connection ends is the one that a new connection would be refused with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from django.conf import settings as django_settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db.models import Q
from django.utils.crypto import constant_time_compare

from artifacts import clock, conf
from artifacts.access import Access
from artifacts.core.errors import ArtifactrError, Forbidden, NotFound
from artifacts.core.visibility import Hidden
from artifacts.models import ApiKey, Membership
from artifacts.models import Workspace as WorkspaceRow
from artifacts.surfaces.authentication import Principal, Unauthorized, open_for, principal_of
from artifacts.workspace import Workspace

CLOSE_CODES = {"unauthorized": 4401, "forbidden": 4403, "not_found": 4404}
ACTION = "read_events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a connection came with; `source` is its request or scope, for a host's own hook."""

    source: Any
    authorization: str | None = None
    user: Any = None
    session_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An open door, what its holder may not see, and the credential it was opened with."""

    credential: Credential
    principal: Principal
    workspace: Workspace
    hidden: Hidden

    @property
    def owner(self) -> tuple[str, ...]:
        """Whose connections are counted together."""
        principal = self.principal
        if principal.key_id is not None:
            return "key", principal.key_id
        if principal.user is not None:
            return "user", str(principal.user.pk)
        return "actor", self.workspace.tenant_id, principal.actor.participant


@dataclass(frozen=True, slots=True)
class Refused:
    """The claim does not hold any more."""

    code: int


def opened(credential: Credential, workspace_id: str) -> Claim:
    """The claim of a new connection, or the error that refuses it. Reads the database."""
    principal = principal_of(
        credential.source, authorization=credential.authorization, user=credential.user
    )
    workspace = open_for(principal, workspace_id)
    workspace.require(ACTION)
    return Claim(
        credential=credential, principal=principal, workspace=workspace, hidden=workspace.hidden
    )


def refusal(error: ArtifactrError) -> Refused | None:
    code = CLOSE_CODES.get(error.code)
    return None if code is None else Refused(code)


def asked_again(claims: Sequence[Claim]) -> list[Claim | Refused]:
    """Each claim as it stands now. A few queries, however many claims; hosts' hooks for each."""
    if conf.settings().RESOLVE_ACTOR is not None:
        return [_checked(claim, _opened_again) for claim in claims]
    now = _Now(claims)
    return [_checked(claim, now.claim) for claim in claims]


def _checked(claim: Claim, again: Any) -> Claim | Refused:
    try:
        found: Claim = again(claim)
    except (Unauthorized, Forbidden, NotFound) as error:
        return Refused(CLOSE_CODES[error.code])
    return found


def _opened_again(claim: Claim) -> Claim:
    return opened(claim.credential, claim.workspace.id)


class _Now:
    """The rows behind many claims."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        places = {claim.workspace.pk for claim in claims}
        people = {claim.principal.user.pk for claim in claims if claim.principal.user is not None}
        keys = {claim.principal.key_id for claim in claims if claim.principal.key_id is not None}
        sessions = {claim.credential.session_key for claim in claims} - {None}
        self.places = set(WorkspaceRow.objects.filter(pk__in=places).values_list("pk", flat=True))
        self.people = get_user_model()._default_manager.in_bulk(people) if people else {}
        self.keys = _usable_keys(keys) if keys else {}
        self.roles: dict[tuple[int, Any], str] = {}
        if people:
            found = Membership.objects.filter(workspace_id__in=places, user_id__in=people)
            self.roles = {
                (workspace, user): role
                for workspace, user, role in found.values_list("workspace_id", "user_id", "role")
            }
        self.sessions = _sessions(sessions) if sessions else {}

    def claim(self, claim: Claim) -> Claim:
        """The claim with its role of today, or the error that ends it."""
        access = self._by_key(claim) if claim.principal.key_id else self._by_session(claim)
        if claim.workspace.pk not in self.places:
            raise NotFound("workspace", claim.workspace.id)
        workspace = replace(claim.workspace, access=access)
        workspace.require(ACTION)
        return replace(claim, workspace=workspace, hidden=workspace.hidden)

    def _by_key(self, claim: Claim) -> Access:
        role = self.keys.get(claim.principal.key_id or "")
        if role is None:
            raise Unauthorized
        return Access(actor=claim.workspace.actor, role=role)

    def _by_session(self, claim: Claim) -> Access:
        known = claim.principal.user
        user = None if known is None else self.people.get(known.pk)
        if user is None or not user.is_active or not self._is_signed_in(claim, user):
            raise Unauthorized
        role = self.roles.get((claim.workspace.pk, user.pk))
        reads_all = bool(getattr(user, "is_superuser", False))
        if role is None and not reads_all:
            raise NotFound("workspace", claim.workspace.id)
        return Access(actor=claim.workspace.actor, role=role, reads_all=reads_all)

    def _is_signed_in(self, claim: Claim, user: Any) -> bool:
        session = self.sessions.get(claim.credential.session_key or "", {})
        if session.get(SESSION_KEY) != user._meta.pk.value_to_string(user):
            return False
        known = session.get(HASH_SESSION_KEY, "")
        hashes = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
        return any(constant_time_compare(known, each) for each in hashes)


def _usable_keys(key_ids: Iterable[str]) -> dict[str, str]:
    unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=clock.now())
    rows = ApiKey.objects.filter(unexpired, key_id__in=key_ids, revoked_at__isnull=True)
    return dict(rows.values_list("key_id", "role"))


def _sessions(keys: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The sessions that have not ended; those in the database with one query."""
    store = import_module(django_settings.SESSION_ENGINE).SessionStore
    if not issubclass(store, DatabaseStore):
        return {key: store(session_key=key).load() for key in keys}
    rows = store.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=clock.now())
    return {row.session_key: store().decode(row.session_data) for row in rows}
