"""How the client travels: what is sent again and what is not, timeouts, answers of others."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from artifacts.surfaces import problems
from feedback import client
from feedback.client import AsyncClient, Client, sending
from feedback.client.errors import ApiError

USE = "use_" + "a" * 32
BOUND = {
    "id": USE,
    "content": "text",
    "artifact": {"name": "prompt", "version": 1, "definition_hash": "0" * 64},
    "render_sha256": "0" * 64,
    "telemetry_attributes": {},
    "snapshot_id": None,
    "learning_target": None,
    "expires_at": None,
    "truncated": False,
}
SUBMITTED = {"record_id": "rec_1", "duplicate": False}
BUSY = (503, {"code": "unavailable", "detail": "busy"})

Step = tuple[int, Any] | Exception


class Service:
    """Answers by a list, and remembers what it was sent."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        status, body = step
        headers = body.pop("headers", {}) if isinstance(body, dict) else {}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return httpx.Response(status, content=content, headers=headers)


Send = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def send(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Send:
    """Make a call with either client; pauses between tries are noted and not slept."""
    pauses: list[float] = []

    async def passing(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("feedback.client.clients.time.sleep", pauses.append)
    monkeypatch.setattr("feedback.client.clients.asyncio.sleep", passing)

    def sent(service: Service, call: Callable[[Any], Any], **options: Any) -> Any:
        place = {
            "base_url": "http://site.example/api/v1",
            "workspace": "wsp_1",
            "key": "ak_1.secret",
            **options,
        }
        pauses.clear()
        transport = httpx.MockTransport(service)
        if request.param == "sync":
            with httpx.Client(transport=transport) as http:
                return call(Client(**place, http=http))

        async def work() -> Any:
            async with httpx.AsyncClient(transport=transport) as http:
                return await call(AsyncClient(**place, http=http))

        return asyncio.run(work())

    sent.pauses = pauses  # type: ignore[attr-defined]
    return sent


def bind(made: Any) -> Any:
    return made.artifact("prompt").bind({"a": 1})


def judge(made: Any) -> Any:
    return made.feedback.for_use(USE).thumbs_up()


def judge_once(made: Any) -> Any:
    return made.feedback.for_use(USE).thumbs_up(dedupe_key="message:1")


def ingest(made: Any) -> Any:
    return made.records.ingest(collection="main", entity="agent:ada", type="note", text="x")


def test_a_request_says_who_asks_for_what(send: Send) -> None:
    service = Service((201, BOUND))
    assert send(service, bind).id == USE
    (request,) = service.requests
    assert request.method == "POST"
    assert str(request.url) == (
        "http://site.example/api/v1/workspaces/wsp_1/catalog/artifacts/prompt/uses/"
    )
    assert request.headers["Authorization"] == "Bearer ak_1.secret"
    assert json.loads(request.content) == {"parameters": {"a": 1}, "snapshot": False}


def test_a_bind_is_sent_again_under_the_same_key(send: Send) -> None:
    service = Service(BUSY, httpx.ReadTimeout("slow"), (201, BOUND))
    assert send(service, bind).id == USE
    keys = {each.headers["Idempotency-Key"] for each in service.requests}
    assert len(service.requests) == 3
    assert len(keys) == 1
    other = Service((201, BOUND))
    send(other, bind)
    assert other.requests[0].headers["Idempotency-Key"] not in keys


@pytest.mark.parametrize("call", [judge, ingest])
@pytest.mark.parametrize("step", [BUSY, httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("")])
def test_what_would_be_said_twice_is_not_sent_again(
    send: Send, call: Callable[[Any], Any], step: Step
) -> None:
    service = Service(step)
    with pytest.raises((client.Unavailable, client.ConnectionFailed)):
        send(service, call)
    assert len(service.requests) == 1


@pytest.mark.parametrize("step", [BUSY, httpx.ReadTimeout("slow")])
def test_with_a_dedupe_key_it_is(send: Send, step: Step) -> None:
    service = Service(step, (200, SUBMITTED))
    assert send(service, judge_once) == SUBMITTED
    assert service.requests[0].content == service.requests[1].content


def test_what_was_never_sent_may_always_be_tried_again(send: Send) -> None:
    service = Service(httpx.ConnectError("refused"), (201, SUBMITTED))
    assert send(service, judge) == SUBMITTED


def test_a_refusal_is_an_answer_and_not_asked_for_again(send: Send) -> None:
    service = Service((422, {"code": "artifact_parameter", "detail": "task: is missing"}))
    with pytest.raises(client.ArtifactParameter, match="task: is missing"):
        send(service, bind)
    assert len(service.requests) == 1


def test_it_gives_up_after_its_tries_with_longer_pauses(send: Send) -> None:
    service = Service(BUSY, BUSY, BUSY, BUSY)
    with pytest.raises(client.Unavailable) as refused:
        send(service, bind, retries=3)
    assert refused.value.status == 503
    assert len(service.requests) == 4
    assert send.pauses == sorted(set(send.pauses))  # type: ignore[attr-defined]
    none = Service(BUSY)
    with pytest.raises(client.Unavailable):
        send(none, bind, retries=0)


def test_it_waits_as_long_as_it_is_asked_to_and_no_longer_than_it_will(send: Send) -> None:
    def busy(seconds: str) -> Step:
        return 503, {"code": "unavailable", "detail": "", "headers": {"Retry-After": seconds}}

    service = Service(busy("3"), busy("x"), (201, BOUND))
    send(service, bind)
    assert send.pauses[0] == 3.0  # type: ignore[attr-defined]
    long = Service(busy("3600"))
    with pytest.raises(client.Unavailable):
        send(long, bind)
    assert len(long.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        (502, b"<html>a proxy's page with a secret</html>"),
        (200, b"\xff\xfe"),
        (200, {"id": USE}),
        (200, []),
        (302, b""),
        (404, {"message": "not ours"}),
    ],
)
def test_an_answer_of_something_else_is_told_apart(send: Send, answer: Step) -> None:
    service = Service(*[answer] * 3)
    with pytest.raises(client.AnswerUnreadable) as unreadable:
        send(service, bind)
    assert unreadable.value.status == answer[0]  # type: ignore[index]
    assert "secret" not in str(unreadable.value)


def test_a_code_of_a_later_server_is_an_error_with_that_code(send: Send) -> None:
    service = Service((409, {"code": "of_tomorrow", "detail": "who knows"}))
    with pytest.raises(ApiError) as refused:
        send(service, judge)
    assert type(refused.value) is ApiError
    assert (refused.value.code, refused.value.detail) == ("of_tomorrow", "who knows")


def test_every_code_of_these_calls_has_a_class() -> None:
    """All that the service knows but what belongs to commands, catalogs and its own mistakes."""
    elsewhere = {
        "unsupported_protocol", "patch_failed", "precondition_required", "configuration_error",
        "catalog_invalid",
    }  # fmt: skip
    assert set(problems.STATUS) - set(ApiError.known) <= elsewhere
    for cls in ApiError.known.values():
        assert cls.__doc__


def test_each_call_has_the_clients_timeout(send: Send) -> None:
    service = Service((201, BOUND))
    send(service, bind, timeout=1.5)
    assert set(service.requests[0].extensions["timeout"].values()) == {1.5}


@pytest.mark.parametrize("address", ["site.example", "ftp://site.example", "", "http://"])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ValueError, match="http or https"):
        Client(address, workspace="wsp_1", key="ak_1.secret")


def test_a_client_of_the_callers_stays_open() -> None:
    with httpx.Client(transport=httpx.MockTransport(Service())) as http:
        with Client("http://site.example", workspace="wsp_1", key="k", http=http):
            pass
        assert not http.is_closed
    own = Client("http://site.example", workspace="wsp_1", key="k")
    own.close()
    assert own._http.is_closed


def test_a_last_pause_stays_within_what_is_waited_for() -> None:
    assert sending.FIRST_PAUSE_SECONDS < sending.LONGEST_PAUSE_SECONDS


WITHOUT_DJANGO = """
import sys
import feedback.client
from feedback.client import AsyncClient, Client
client = Client("http://127.0.0.1:1", workspace="wsp_1", key="k", retries=0)
try:
    client.artifact("prompt").bind()
except feedback.client.ConnectionFailed as error:
    print("unreachable")
assert "django" not in sys.modules, "the client brought Django along"
"""
WITHOUT_HTTPX = """
import sys
sys.modules["httpx"] = None
import feedback.fluent, feedback.bound, feedback.telemetry
try:
    import feedback.client
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.once
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (WITHOUT_DJANGO, "unreachable"),
        (WITHOUT_HTTPX, "feedback.client needs httpx: install django-artifactr[client]"),
    ],
)
def test_it_needs_httpx_and_no_django(program: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed
