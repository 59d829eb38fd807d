"""What environment variables mean: one function for each group of settings."""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from artifacts.sqlite import sqlite_options


def flag(name: str, *, default: bool) -> bool:
    """Read a yes-or-no variable; anything unclear is an error, not a guess."""
    value = os.environ.get(name, "").strip().lower()
    if value in {"", "1", "true", "yes", "on", "0", "false", "no", "off"}:
        return default if not value else value in {"1", "true", "yes", "on"}
    raise ImproperlyConfigured(f"{name} must be 1 or 0")


def words(name: str) -> list[str]:
    """Read a comma-separated variable."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def sqlite(path: Path | str) -> dict[str, Any]:
    """One SQLite file, set up so that several writers queue."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": sqlite_options(),
    }


def database(url: str, *, pool_size: int = 0) -> dict[str, Any]:
    """Turn a database URL into Django's settings; query parameters go to the driver."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return sqlite(unquote(parts.path[1:]))  # four slashes for an absolute path, as usual
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must start with postgresql:// or sqlite://")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or unquote(parts.hostname or "")
    if pool_size:
        options["pool"] = {"min_size": 1, "max_size": pool_size, "timeout": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "artifactr",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
    }


def channel_layers(redis_url: str | None, *, prefix: str = "artifactr") -> dict[str, Any]:
    """Redis between processes; one process needs none."""
    if not redis_url:
        return {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    # The client allows 100 connections by default; many sockets closing at once need more.
    host = {"address": redis_url, "max_connections": 1000}
    return {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {"hosts": [host], "prefix": prefix},
        }
    }


def secret_key(stored_at: Path, *, debug: bool) -> str:
    """The given key, or, in development, one made on first use and kept beside the database."""
    if key := os.environ.get("DJANGO_SECRET_KEY"):
        return key
    if not debug:
        raise ImproperlyConfigured("DJANGO_SECRET_KEY must be set when DEBUG is off")
    if not stored_at.exists():
        stored_at.parent.mkdir(parents=True, exist_ok=True)
        stored_at.touch(mode=0o600)
        stored_at.write_text(secrets.token_urlsafe(50))
    return stored_at.read_text()
