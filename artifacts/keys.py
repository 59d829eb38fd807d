"""API keys: how one is made, and how the text a caller sends becomes its row again.

A key reads `ak_<8 characters>.<43 characters>`: its public id and its secret. Only the SHA-256 of
the secret is kept, which suffices for 256 random bits.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime, timedelta

from django.db.models import QuerySet

from . import clock
from .core.actors import Actor, AgentActor, actor_adapter
from .core.errors import ValidationFailed
from .models import ApiKey, Tenant, Workspace

KEY = re.compile(r"ak_([0-9a-f]{8})\.([A-Za-z0-9_-]{43})")
NAME_CHARS = 100
# Writing the time of every request would make each read a write.
USED_AGAIN_AFTER = timedelta(minutes=1)


def create_key(
    *,
    tenant: Tenant,
    workspace: Workspace | None,
    name: str,
    role: str,
    actor: Actor,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key and the text its holder sends; the text cannot be shown again."""
    if isinstance(actor, AgentActor):
        raise ValidationFailed.at(["actor"], "must not be the agent of a thread: it has no key")
    if len(name) > NAME_CHARS:
        raise ValidationFailed.at(["name"], f"is longer than {NAME_CHARS} characters")
    key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    key = ApiKey.objects.create(
        key_id=key_id,
        secret_sha256=_sha256(secret),
        tenant=tenant,
        workspace=workspace,
        name=name,
        role=role,
        actor=actor_adapter.dump_json(actor, exclude_none=True).decode(),
        expires_at=expires_at,
    )
    return key, f"ak_{key_id}.{secret}"


def find_key(text: str) -> ApiKey | None:
    """The usable key of this text, or None, whatever is wrong with it."""
    match = KEY.fullmatch(text)
    if match is None:
        return None
    key_id, secret = match.groups()
    key = ApiKey.objects.select_related("tenant", "workspace").filter(key_id=key_id).first()
    expected = key.secret_sha256 if key else "0" * 64
    if not secrets.compare_digest(_sha256(secret), expected) or key is None:
        return None
    now = clock.now()
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        return None
    if key.last_used_at is None or key.last_used_at <= now - USED_AGAIN_AFTER:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key


def revoke_keys(keys: QuerySet[ApiKey]) -> int:
    """Make keys useless from now on; how many that changed."""
    return keys.filter(revoked_at__isnull=True).update(revoked_at=clock.now())


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
