"""A host's own functions, as settings of test servers name them."""

from __future__ import annotations

from typing import Any

from artifacts import core
from artifacts.core.visibility import Hidden
from artifacts.models import Event
from artifacts.surfaces.authentication import Principal
from threads.models import Thread


def _is_over(workspace_id: str) -> bool:
    """The test says so by opening a thread."""
    rows = Event.objects.filter(workspace__public_id=workspace_id, type="thread_created")
    return rows.filter(text__contains="no more").exists()


def authorize(actor: core.Actor, workspace: Any, action: str, target: Any) -> bool:
    return "refused_when_asked" not in actor.participant or not _is_over(workspace.id)


def hidden(actor: core.Actor, workspace: Any) -> Hidden:
    if "hidden_from" not in actor.participant:
        return Hidden()
    secret = Thread.objects.filter(workspace__public_id=workspace.id, title="secret")
    return Hidden(threads=frozenset(secret.values_list("public_id", flat=True)))


def resolve(source: Any) -> Principal | None:
    """A header names the tenant whose program this is."""
    headers = dict(source["headers"]) if isinstance(source, dict) else {}
    tenant_id = headers.get(b"x-host-user", b"").decode()
    if not tenant_id or tenant_id == "nobody":
        return None
    workspace_id = source["url_route"]["kwargs"]["workspace_id"]
    if _is_over(workspace_id):
        return None
    actor: core.Actor = core.SystemActor(name="host")
    if given := headers.get(b"x-actor"):
        actor = core.actor_adapter.validate_json(given)
    return Principal(actor=actor, tenant_id=tenant_id, role="admin")
