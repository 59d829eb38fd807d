"""By what right a connection is open, and whether it still is: asked of all of them together.

The code with which a connection ends is the one that a new connection would be refused with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from django.conf import settings as django_settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db.models import Q
from django.utils.crypto import constant_time_compare
from opentelemetry.trace import Span, SpanKind

from artifacts import clock, conf, telemetry
from artifacts.access import Access
from artifacts.core.errors import Forbidden, NotFound
from artifacts.core.visibility import Hidden
from artifacts.models import ApiKey, Membership
from artifacts.models import Workspace as WorkspaceRow
from artifacts.surfaces.authentication import Principal, Unauthorized, open_for, principal_of
from artifacts.workspace import Workspace
from threads.surfaces import closing

ACTION = "read_events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a connection came with; `source` is its request or scope, for a host's own hook."""

    source: Any
    authorization: str | None = None
    user: Any = None
    session_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
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


def connection_span(admission: Admission, kind: str) -> AbstractContextManager[Span]:
    """A span around the life of a connection."""
    about = {**telemetry.about(admission.workspace), "artifactr.connection.kind": kind}
    return telemetry.span("artifactr.connection", about, kind=SpanKind.SERVER)


@dataclass(frozen=True, slots=True)
class Refused:
    """The admission does not hold any more."""

    code: int


def opened(credential: Credential, workspace_id: str) -> Admission:
    """The admission of a new connection, or the error that refuses it. Reads the database."""
    principal = principal_of(
        credential.source, authorization=credential.authorization, user=credential.user
    )
    workspace = open_for(principal, workspace_id)
    workspace.require(ACTION)
    return Admission(
        credential=credential, principal=principal, workspace=workspace, hidden=workspace.hidden
    )


def asked_again(admissions: Sequence[Admission]) -> list[Admission | Refused]:
    """Each as it stands now. A few queries, however many there are; hosts' hooks for each."""
    if conf.settings().RESOLVE_ACTOR is not None:
        return [_checked(admission, _opened_again) for admission in admissions]
    now = _Now(admissions)
    return [_checked(admission, now.admission) for admission in admissions]


def _checked(admission: Admission, again: Any) -> Admission | Refused:
    try:
        found: Admission = again(admission)
    except (Unauthorized, Forbidden, NotFound) as error:
        return Refused(closing.OF_ERROR[error.code])
    return found


def _opened_again(admission: Admission) -> Admission:
    return opened(admission.credential, admission.workspace.id)


class _Now:
    """The rows behind many admissions."""

    def __init__(self, admissions: Sequence[Admission]) -> None:
        places = {admission.workspace.pk for admission in admissions}
        people = {
            admission.principal.user.pk
            for admission in admissions
            if admission.principal.user is not None
        }
        keys = {
            admission.principal.key_id
            for admission in admissions
            if admission.principal.key_id is not None
        }
        sessions = {admission.credential.session_key for admission in admissions} - {None}
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

    def admission(self, admission: Admission) -> Admission:
        """The admission with its role of today, or the error that ends it."""
        access = (
            self._by_key(admission) if admission.principal.key_id else self._by_session(admission)
        )
        if admission.workspace.pk not in self.places:
            raise NotFound("workspace", admission.workspace.id)
        workspace = replace(admission.workspace, access=access)
        workspace.require(ACTION)
        return replace(admission, workspace=workspace, hidden=workspace.hidden)

    def _by_key(self, admission: Admission) -> Access:
        role = self.keys.get(admission.principal.key_id or "")
        if role is None:
            raise Unauthorized
        return Access(actor=admission.workspace.actor, role=role)

    def _by_session(self, admission: Admission) -> Access:
        known = admission.principal.user
        user = None if known is None else self.people.get(known.pk)
        if user is None or not user.is_active or not self._is_signed_in(admission, user):
            raise Unauthorized
        role = self.roles.get((admission.workspace.pk, user.pk))
        reads_all = bool(getattr(user, "is_superuser", False))
        if role is None and not reads_all:
            raise NotFound("workspace", admission.workspace.id)
        return Access(actor=admission.workspace.actor, role=role, reads_all=reads_all)

    def _is_signed_in(self, admission: Admission, user: Any) -> bool:
        session = self.sessions.get(admission.credential.session_key or "", {})
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
