"""A page of another site cannot open a socket with the user's cookies."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from threads.consumers.origins import is_trusted

pytestmark = pytest.mark.once


def scope(
    origin: str | None,
    *,
    host: str = "app.example",
    scheme: str = "wss",
    cookie: bool = True,
    **headers: str,
) -> dict[str, Any]:
    given = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if origin is not None:
        given["origin"] = origin
    if cookie:
        given["cookie"] = "sessionid=x"
    return {
        "scheme": scheme,
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }


@pytest.fixture(autouse=True)
def _site() -> Any:
    with override_settings(
        ALLOWED_HOSTS=["app.example", ".wild.example"],
        CSRF_TRUSTED_ORIGINS=["https://trusted.example", "https://*.partner.example:8443"],
    ):
        yield


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://app.example", "app.example"),
        ("https://app.example:443", "app.example"),
        ("https://app.example", "app.example:443"),
        ("https://app.example:8000", "app.example:8000"),
        ("https://APP.example", "app.example"),
        ("https://a.wild.example", "a.wild.example"),
        ("https://trusted.example", "app.example"),
        ("https://a.b.partner.example:8443", "app.example"),
        ("https://partner.example:8443", "app.example"),  # as Django reads the pattern
    ],
)
def test_own_and_listed_pages_may(origin: str, host: str) -> None:
    assert is_trusted(scope(origin, host=host))


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.example",
        "https://app.example.evil.example",  # look-alike, longer
        "https://evilapp.example",  # look-alike, without a dot
        "https://app.example@evil.example",
        "https://user@app.example",
        "http://app.example",  # another scheme
        "https://app.example:8443",  # another port
        "https://app.example/",  # no origin has a path
        "https://app.example?x",
        "https://app.example:notaport",
        "file://app.example",
        "app.example",
        "https://",
        "https://trusted.example.evil.example",
        "https://evilpartner.example:8443",
        "https://a.partner.example",
        "https://[::1",
    ],
)
def test_others_may_not(origin: str) -> None:
    assert not is_trusted(scope(origin))


def test_a_page_of_this_host_under_a_name_that_is_not_allowed_may_not() -> None:
    """DNS rebinding: Host and Origin agree, and neither is ours."""
    assert not is_trusted(scope("https://rebound.example", host="rebound.example"))


def test_the_header_may_not_be_repeated() -> None:
    doubled = scope("https://app.example")
    doubled["headers"].append((b"origin", b"https://app.example"))
    assert not is_trusted(doubled)


def test_without_an_origin_cookies_count_for_nothing() -> None:
    assert not is_trusted(scope(None))
    assert is_trusted(scope(None, cookie=False))  # a program; it needs a key of its own


def test_plain_and_secure_are_told_apart_behind_a_proxy_too() -> None:
    assert is_trusted(scope("http://app.example", scheme="ws"))
    assert not is_trusted(scope("https://app.example", scheme="ws"))
    with override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https")):
        forwarded = scope("https://app.example", scheme="ws", x_forwarded_proto="https")
        assert is_trusted(forwarded)
        assert not is_trusted(scope("https://app.example", scheme="ws", x_forwarded_proto="http"))
