"""Settings are read live, typed, and what is wrong with them is told before the first request."""

import ast
import inspect
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import override_settings

from artifacts import checks, conf
from artifacts.core.errors import ConfigurationError
from artifacts.core.limits import DEFAULT_LIMITS


def found(value: Any) -> list[tuple[str | None, str]]:
    with override_settings(ARTIFACTR=value):
        return [(message.id, message.msg) for message in checks.check_settings()]


def test_defaults_pass_their_own_checks() -> None:
    assert found({}) == []


def test_settings_are_read_when_they_are_asked_for() -> None:
    for days in (7, 8):
        with override_settings(ARTIFACTR={"RECEIPT_DAYS": days}):
            settings = conf.settings()
            assert days == settings.RECEIPT_DAYS


def test_limits_are_laid_over_those_of_core() -> None:
    with override_settings(ARTIFACTR={"LIMITS": {"depth": 3}}):
        assert conf.limits().depth == 3
        assert conf.limits().page == DEFAULT_LIMITS.page


def test_an_unknown_setting_is_the_hosts_mistake() -> None:
    with (
        override_settings(ARTIFACTR={"RECIEPT_DAYS": 3}),
        pytest.raises(ConfigurationError, match="RECIEPT_DAYS"),
    ):
        conf.settings()


def test_every_setting_is_documented() -> None:
    body = ast.parse(inspect.getsource(conf.Settings)).body[0]
    assert isinstance(body, ast.ClassDef)
    documented = {
        field.target.id
        for field, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
    }
    assert documented == set(conf.NAMES)


@pytest.mark.parametrize(
    ("value", "id", "named"),
    [
        ([], "artifactr.E001", "ARTIFACTR"),
        ({"RECIEPT_DAYS": 3}, "artifactr.E002", "RECIEPT_DAYS"),
        ({"RECEIPT_DAYS": "7"}, "artifactr.E003", "RECEIPT_DAYS"),
        ({"RECEIPT_DAYS": True}, "artifactr.E003", "RECEIPT_DAYS"),
        ({"LIMITS": {"depth": "32"}}, "artifactr.E003", "LIMITS"),
        ({"EXECUTOR": "cron"}, "artifactr.E003", "EXECUTOR"),
        ({"AUTHORIZE": "nowhere.at_all"}, "artifactr.E004", "AUTHORIZE"),
        ({"AUTHORIZE": "artifacts.conf.NAME"}, "artifactr.E004", "AUTHORIZE"),
        ({"AGENTS": {"default": "nowhere.agent"}}, "artifactr.E004", "AGENTS['default']"),
        ({"LIMITS": {"deepth": 3}}, "artifactr.E005", "deepth"),
        ({"LIMITS": {"depth": 0}}, "artifactr.E005", "depth"),
        ({"LIMITS": {"page": 600}}, "artifactr.E006", "page_max"),
        ({"LEASE_TTL_SECONDS": 1}, "artifactr.E007", "LEASE_TTL_SECONDS"),
        ({"FOLLOW_POLL_SECONDS": 0.0}, "artifactr.E007", "FOLLOW_POLL_SECONDS"),
        ({"LIMITS": {"body_bytes": 1000}}, "artifactr.W001", "body_bytes"),
    ],
)
def test_a_wrong_setting_is_found(value: Any, id: str, named: str) -> None:
    [(found_id, message)] = found(value)
    assert found_id == id
    assert named in message


def test_every_finding_says_what_to_do() -> None:
    with override_settings(ARTIFACTR={"RECIEPT_DAYS": 3, "MODEL": 1}):
        messages = checks.check_settings()
    assert len(messages) == 2
    assert all(message.hint for message in messages)
    assert "RECEIPT_DAYS" in str(messages[0].hint)


@pytest.mark.parametrize(
    ("settings", "id"),
    [
        ({"MIDDLEWARE": []}, "artifactr.W002"),
        (
            {
                "ARTIFACTR": {"EXECUTOR": "celery"},
                "CHANNEL_LAYERS": {"default": {"BACKEND": checks.LOCAL_CHANNEL_LAYER}},
            },
            "artifactr.W003",
        ),
        ({"ARTIFACTR": {"EXECUTOR": "celery"}, "CHANNEL_LAYERS": {}}, "artifactr.W003"),
        ({"CELERY_TASK_REJECT_ON_WORKER_LOST": False}, "artifactr.W004"),
    ],
)
def test_a_host_setting_that_defeats_a_guarantee_is_found(
    settings: Mapping[str, Any], id: str
) -> None:
    with override_settings(**{"ARTIFACTR": {}, **settings}):
        assert [message.id for message in checks.check_host()] == [id]


@override_settings(ARTIFACTR={})
def test_the_sites_own_settings_defeat_nothing() -> None:
    assert checks.check_host() == []
