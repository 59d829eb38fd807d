"""How a call travels: its request, when it is sent again, and what its answer means."""

from __future__ import annotations

import json
from typing import TypeVar

try:
    import httpx
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "feedback.client needs httpx: install django-artifactr[client]", name=missing.name
    ) from missing

from .calls import Call, part
from .errors import AnswerUnreadable, ConnectionFailed, refusal

T = TypeVar("T")
Outcome = httpx.Response | httpx.TransportError

TIMEOUT_SECONDS = 10.0
RETRIES = 2
FIRST_PAUSE_SECONDS = 0.2
# Whoever is told to come back later than this is told no.
LONGEST_PAUSE_SECONDS = 10.0
TRY_LATER = (429, 502, 503, 504)
# No connection, so nothing was asked yet.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Destination:
    """One workspace of one site, and the key that opens it."""

    def __init__(self, base_url: str, workspace: str, key: str) -> None:
        base = httpx.URL(base_url)
        if base.scheme not in ("http", "https") or not base.host:
            raise ValueError(f"base_url must be an http or https address, not {base_url!r}")
        self.url = f"{base_url.rstrip('/')}/workspaces/{part(workspace)}/"
        self._key = key

    def __repr__(self) -> str:
        return f"Destination({self.url!r})"  # not the key

    def request(self, call: Call[T], timeout: float) -> httpx.Request:
        try:
            return self._request(call, timeout)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"no JSON can say this: {type(error).__name__}") from error

    def _request(self, call: Call[T], timeout: float) -> httpx.Request:
        return httpx.Request(
            call.method,
            self.url + call.path,
            json=call.body,
            headers={
                "Accept": "application/json",
                "Authorization": f"Bearer {self._key}",
                **call.headers,
            },
            extensions={"timeout": httpx.Timeout(timeout).as_dict()},
        )


class Retries:
    """How often one call is sent again, and after which pauses."""

    def __init__(self, call: Call[T], most: int) -> None:
        self._call, self._left, self._pause = call, most, FIRST_PAUSE_SECONDS

    def pause_after(self, outcome: Outcome) -> float | None:
        """Seconds to wait before sending it again; None where this outcome is the last."""
        if self._left <= 0 or not self._may_repeat(outcome):
            return None
        pause = max(self._pause, _asked_pause(outcome))
        if pause > LONGEST_PAUSE_SECONDS:
            return None
        self._left -= 1
        self._pause *= 2
        return pause

    def _may_repeat(self, outcome: Outcome) -> bool:
        if isinstance(outcome, NOT_SENT):
            return True
        if not self._call.is_repeatable:
            return False
        return isinstance(outcome, httpx.TransportError) or outcome.status_code in TRY_LATER


def read(call: Call[T], outcome: Outcome) -> T:
    """What a call gives, or the error that its answer tells of."""
    if isinstance(outcome, httpx.TransportError):
        raise ConnectionFailed(f"{type(outcome).__name__}: {outcome}") from outcome
    status = outcome.status_code
    try:
        body = outcome.json()
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _unreadable(outcome, "no JSON") from error
    if not outcome.is_success:
        if not isinstance(body, dict) or "code" not in body:
            raise _unreadable(outcome, "no problem that this service tells of")
        raise refusal(status, body)
    try:
        return call.read(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(outcome, "JSON of another form") from error


def _asked_pause(outcome: Outcome) -> float:
    """What the service asks to wait."""
    if isinstance(outcome, httpx.TransportError):
        return 0.0
    asked = outcome.headers.get("Retry-After", "")
    return float(asked) if asked.isascii() and asked.isdigit() else 0.0


def _unreadable(answer: httpx.Response, what: str) -> AnswerUnreadable:
    # Not what it says: a proxy's page may be anything.
    return AnswerUnreadable(
        f"{answer.request.url.host} answered {answer.status_code} with {what}",
        status=answer.status_code,
    )
