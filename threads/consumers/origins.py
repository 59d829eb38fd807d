"""Whether a browser's page may open a socket here with the user's cookies.

The rule is that of Django's own CSRF check: the page comes from this very scheme, host and port, or
from one of CSRF_TRUSTED_ORIGINS. The same-origin policy does not hold sockets back, so the server
has to.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain

PORTS = {"http": 80, "https": 443}
LOCAL_HOSTS = [".localhost", "127.0.0.1", "[::1]"]  # what Django allows with DEBUG and no list


def header(scope: dict[str, Any], name: str) -> str | None:
    """A header of a scope, or None where it is absent, repeated or no text."""
    found = [value for key, value in scope["headers"] if key == name.encode()]
    if len(found) != 1:
        return None
    text: str = found[0].decode("latin-1")
    return text


def is_trusted(scope: dict[str, Any]) -> bool:
    """Whether it comes from a page of this site, or from no page and without cookies."""
    named = [value for key, value in scope["headers"] if key == b"origin"]
    if not named:
        return not any(key == b"cookie" for key, _ in scope["headers"])
    origin = header(scope, "origin")
    return origin is not None and (_is_own(origin, scope) or _is_listed(origin))


def _is_own(origin: str, scope: dict[str, Any]) -> bool:
    is_forwarded = settings.USE_X_FORWARDED_HOST and header(scope, "x-forwarded-host")
    host = header(scope, "x-forwarded-host" if is_forwarded else "host")
    if host is None or not validate_host(split_domain_port(host)[0], _allowed_hosts()):
        return False
    here = _place(f"{'https' if _is_secure(scope) else 'http'}://{host}")
    return here is not None and _place(origin) == here


def _is_listed(origin: str) -> bool:
    place = _place(origin)
    if place is None:
        return False
    return any(_matches(place, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _matches(place: tuple[str, str, int], trusted: str) -> bool:
    scheme, _, rest = trusted.partition("://")
    if not rest.startswith("*"):
        return _place(trusted) == place
    pattern = _place(f"{scheme}://x{rest[1:]}")
    if pattern is None:
        return False
    is_under = is_same_domain(place[1], pattern[1].removeprefix("x"))
    return is_under and (place[0], place[2]) == (pattern[0], pattern[2])


def _place(origin: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None for what is no origin, `null` among it."""
    try:
        parts: SplitResult = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in PORTS or not parts.hostname or parts.username is not None:
        return None
    if parts.path or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, port or PORTS[parts.scheme]


def _is_secure(scope: dict[str, Any]) -> bool:
    """As the request of the page would be judged, behind a proxy too."""
    proxy = settings.SECURE_PROXY_SSL_HEADER
    if proxy is not None:
        name, secure = proxy
        value = header(scope, name.removeprefix("HTTP_").replace("_", "-").lower())
        if value is not None:
            return value.split(",")[0].strip() == secure
    return scope.get("scheme") in ("wss", "https")


def _allowed_hosts() -> list[str]:
    return settings.ALLOWED_HOSTS or (LOCAL_HOSTS if settings.DEBUG else [])
