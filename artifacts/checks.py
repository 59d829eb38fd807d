"""System checks of the `ARTIFACTR` settings and of host settings that would defeat a guarantee.

Each has an id and says what to do; triggers and databases are checked in `artifacts.guards`.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, get_type_hints

from django.apps import AppConfig
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Warning
from django.utils.module_loading import import_string
from pydantic import TypeAdapter, ValidationError

from . import conf
from .core.limits import Limits

SHORTEST_LEASE_SECONDS = 3
LOCAL_CHANNEL_LAYER = "channels.layers.InMemoryChannelLayer"


def check_settings(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Unknown names, wrong types, paths that lead nowhere, and combinations that cannot be."""
    given = conf.given()
    if not isinstance(given, Mapping):
        hint = f"Write {conf.NAME} = {{}} and add names to it."
        return [Error(f"{conf.NAME} must be a dict.", hint=hint, id="artifactr.E001")]
    messages = [*_unknown_names(given), *_wrong_types(given)]
    # The rest reads values, which makes sense only once their names and types are right.
    return messages or [*_lost_paths(), *_wrong_limits(), *_bad_combinations()]


def check_host(app_configs: Sequence[AppConfig] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Settings of Django, Channels and Celery under which something would be lost silently."""
    return [*_missing_middleware(), *_local_channel_layer(), *_lost_tasks()]


def _nearest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known are: {', '.join(sorted(known))}."


def _unknown_names(given: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for name in sorted(set(given) - set(conf.NAMES), key=str):
        yield Error(
            f"{conf.NAME} has no setting {name!r}.",
            hint=_nearest(str(name), conf.NAMES),
            id="artifactr.E002",
        )


def _wrong_types(given: Mapping[str, Any]) -> Iterator[CheckMessage]:
    hints = get_type_hints(conf.Settings)
    for name in sorted(set(given) & set(conf.NAMES)):
        try:
            TypeAdapter(hints[name]).validate_python(given[name], strict=True)
        except ValidationError as error:
            yield Error(
                f"{conf.NAME}[{name!r}] has a wrong value: {error.errors()[0]['msg']}.",
                hint=f"Its type is {hints[name]}.",
                id="artifactr.E003",
            )


def _lost_paths() -> Iterator[CheckMessage]:
    settings = conf.settings()
    functions = {name: getattr(settings, name) for name in conf.FUNCTIONS}
    functions |= {f"TURN_ENDED[{at}]": path for at, path in enumerate(settings.TURN_ENDED)}
    paths = dict(functions)
    paths |= {f"AGENTS[{name!r}]": path for name, path in settings.AGENTS.items()}
    for name, path in paths.items():
        if path is None:
            continue
        try:
            found = import_string(path)
        except ImportError as error:
            yield Error(
                f"{conf.NAME}: {name} names {path!r}, which cannot be imported: {error}.",
                hint="Give the full dotted path of what is meant, such as 'host.module.name'.",
                id="artifactr.E004",
            )
            continue
        if name in functions and not callable(found):
            yield Error(
                f"{conf.NAME}: {name} names {path!r}, which is not callable.",
                hint="Name a function.",
                id="artifactr.E004",
            )


def _wrong_limits() -> Iterator[CheckMessage]:
    known = [each.name for each in fields(Limits)]
    for name, value in conf.settings().LIMITS.items():
        if name not in known:
            yield Error(
                f"{conf.NAME}['LIMITS'] has no limit {name!r}.",
                hint=_nearest(name, known),
                id="artifactr.E005",
            )
        elif value < 1:
            yield Error(
                f"{conf.NAME}['LIMITS'][{name!r}] must be at least 1.",
                hint=f"The default is {asdict(Limits())[name]}.",
                id="artifactr.E005",
            )


def _bad_combinations() -> Iterator[CheckMessage]:
    settings = conf.settings()
    limits = {**asdict(Limits()), **settings.LIMITS}
    if limits["page"] > limits["page_max"]:
        yield Error(
            f"{conf.NAME}['LIMITS']: page is larger than page_max.",
            hint="page is what a reader gets without asking, page_max the most anyone gets.",
            id="artifactr.E006",
        )
    if 0 < settings.LEASE_TTL_SECONDS < SHORTEST_LEASE_SECONDS:
        yield Error(
            f"{conf.NAME}['LEASE_TTL_SECONDS'] is below {SHORTEST_LEASE_SECONDS}.",
            hint="A claim is renewed at a third of its time, and must outlive a slow statement.",
            id="artifactr.E007",
        )
    for name, value in asdict(settings).items():
        if isinstance(value, int | float) and value <= 0:
            yield Error(
                f"{conf.NAME}[{name!r}] must be more than 0.",
                hint=f"The default is {getattr(conf.Settings(), name)}.",
                id="artifactr.E007",
            )
    if limits["body_bytes"] < limits["artifact_bytes"]:
        yield Warning(
            f"{conf.NAME}['LIMITS']: body_bytes is below artifact_bytes.",
            hint="Values between the two can be built by patches and never be sent as a whole.",
            id="artifactr.W001",
        )


def _missing_middleware() -> Iterator[CheckMessage]:
    if conf.given().get("RESOLVE_ACTOR") is None and not any(
        path.endswith(".SessionMiddleware") for path in django_settings.MIDDLEWARE
    ):
        yield Warning(
            "There is no session middleware, so only API keys reach the REST surface.",
            hint="Add django.contrib.sessions.middleware.SessionMiddleware to MIDDLEWARE, or set "
            f"{conf.NAME}['RESOLVE_ACTOR'].",
            id="artifactr.W002",
        )


def _local_channel_layer() -> Iterator[CheckMessage]:
    layers = getattr(django_settings, "CHANNEL_LAYERS", None) or {}
    backend = layers.get("default", {}).get("BACKEND")
    if conf.given().get("EXECUTOR") == "celery" and backend in (None, LOCAL_CHANNEL_LAYER):
        yield Warning(
            "Tasks run in other processes, and the channel layer does not reach those.",
            hint="Configure channels_redis in CHANNEL_LAYERS; until then clients see other "
            "processes' events only when the log is polled.",
            id="artifactr.W003",
        )


def _lost_tasks() -> Iterator[CheckMessage]:
    late = getattr(django_settings, "CELERY_TASK_ACKS_LATE", False)
    if late and not getattr(django_settings, "CELERY_TASK_REJECT_ON_WORKER_LOST", False):
        yield Warning(
            "Celery acknowledges late, yet a task whose worker is killed counts as done.",
            hint="Set CELERY_TASK_REJECT_ON_WORKER_LOST = True.",
            id="artifactr.W004",
        )
