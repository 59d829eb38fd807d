"""The site's own routes, its policy header, and what production settings promise."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings

from artifactr_site.middleware import HEADER, content_security_policy

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_health_asks_the_database(client: Client) -> None:
    with override_settings(REDIS_URL=None):
        answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"database": "up"})


@pytest.mark.django_db
def test_health_is_red_while_redis_is_away(client: Client, redis_url: str) -> None:
    with override_settings(REDIS_URL=redis_url):
        assert client.get("/healthz").json() == {"database": "up", "redis": "up"}
    with override_settings(REDIS_URL="redis://127.0.0.1:1"):
        answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"database": "up", "redis": "down"})


@pytest.mark.parametrize("path", ["/admin/login/", "/api/v1/docs/", "/nowhere"])
def test_every_page_carries_the_policy(client: Client, path: str) -> None:
    policy = client.get(path).headers[HEADER]
    assert policy == settings.CONTENT_SECURITY_POLICY
    assert "unsafe" not in policy


async def _policy_of_async_page() -> str:
    return (await AsyncClient().get("/nowhere")).headers[HEADER]


@pytest.mark.asyncio
async def test_the_policy_is_there_under_asgi_too() -> None:
    assert await _policy_of_async_page() == settings.CONTENT_SECURITY_POLICY


def test_a_view_may_set_its_own_policy() -> None:
    def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={HEADER: "default-src 'none'"})

    answer = content_security_policy(view)(RequestFactory().get("/"))
    assert isinstance(answer, HttpResponse)
    assert answer.headers[HEADER] == "default-src 'none'"


def test_the_schema_is_whole_and_has_no_warning() -> None:
    made = StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=made)
    assert "/api/v1/workspaces/" in made.getvalue()


def test_production_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    production = {
        "DEBUG": "0",
        "DJANGO_SECRET_KEY": "k" * 30 + "0123456789abcdefghijklmnopqrst",
        "ALLOWED_HOSTS": "artifactr.example",
    }
    made = _manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **production)
    assert made.returncode == 0, made.stderr


def test_production_refuses_to_start_without_a_key(tmp_path: Path) -> None:
    made = _manage(tmp_path, "check", DEBUG="0")
    assert made.returncode != 0
    assert "DJANGO_SECRET_KEY must be set" in made.stderr


def _manage(state: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    chosen = ("DATABASE_URL", "REDIS_URL", "DJANGO_SECRET_KEY", "DJANGO_SETTINGS_MODULE")
    inherited = {key: value for key, value in os.environ.items() if key not in chosen}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**inherited, "ARTIFACTR_STATE_DIR": str(state), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
