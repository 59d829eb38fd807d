"""Readiness: whether what this process cannot do its work without answers right now."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import redis
from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse

ANSWER_SECONDS = 1.0


def healthz(request: HttpRequest) -> JsonResponse:
    """200 while all of it answers, else 503 naming what does not; writes go on without Redis."""
    found = {name: _is_up(probe) for name, probe in _probes()}
    status = 200 if all(found.values()) else 503
    return JsonResponse({name: "up" if up else "down" for name, up in found.items()}, status=status)


def _probes() -> Iterator[tuple[str, Callable[[], object]]]:
    yield "database", _ask_database
    if settings.REDIS_URL:
        yield "redis", _ask_redis


def _is_up(probe: Callable[[], object]) -> bool:
    try:
        probe()
    except (Error, redis.RedisError, OSError):
        return False
    return True


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    limits = {"socket_connect_timeout": ANSWER_SECONDS, "socket_timeout": ANSWER_SECONDS}
    with redis.Redis.from_url(str(settings.REDIS_URL), **limits) as client:
        client.ping()
