"""System checks of the agents that the host names.

Making them may cost a lot, or need what only a server has: a command that only passes by, as
`shell` or `createsuperuser`, makes none. Whatever runs turns asks again before the first request.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Warning
from pydantic_ai.exceptions import UserError

from artifacts import conf
from threads.agent import agents, models

# The commands of Django that set a site up or serve it.
SETTING_UP = ("check", "runserver", "testserver")


def check_agents(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Whether each path gives an agent, and one that can wait for what it asks people."""
    named = _setting("AGENTS")
    if _only_passes_by(sys.argv) or not isinstance(named, Mapping):
        return []  # the check of all settings says what is wrong
    return [message for name, path in named.items() for message in _of(str(name), str(path))]


def check_model(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Whether the model is one that pydantic-ai knows, with all that it needs."""
    name = _setting("MODEL")
    if _only_passes_by(sys.argv) or not isinstance(name, str):
        return []
    try:
        models.named(name)
    except Exception as error:
        # No error, as below.
        message = Warning(
            f"{conf.NAME}['MODEL'] names {name!r}, which cannot be used here: {error}",
            hint="Write it as provider:model; its provider may need a package and a key.",
            id="artifactr.W021",
        )
        return [message]
    return []


def _only_passes_by(arguments: Sequence[str]) -> bool:
    """Whether this process is some other command of Django; a Celery worker, as it starts, asks for
    the checks without one."""
    program = Path(arguments[0]).name if arguments else ""
    is_command = program in ("manage.py", "django-admin", "django-admin.exe", "__main__.py")
    if not is_command or (program == "__main__.py" and Path(arguments[0]).parent.name != "django"):
        return False
    return not any(each in SETTING_UP for each in arguments[1:2])


def _setting(name: str) -> Any:
    given = conf.given()
    return given.get(name) if isinstance(given, Mapping) else None


def _of(name: str, path: str) -> Iterator[CheckMessage]:
    where = f"{conf.NAME}['AGENTS'][{name!r}]"
    try:
        agents.check_pausing(agents.made(path).agent)
    except agents.NeverPauses as error:
        yield Error(
            f"{where} has tools that wait for a person ({', '.join(error.tools)}), and its output "
            "cannot hold such a wait.",
            hint="Give the agent output_type=[str, DeferredToolRequests].",
            id="artifactr.E020",
        )
    except UserError as error:
        # No error: a key that only the workers have may be missing where this runs.
        yield Warning(
            f"{where}: {error}.",
            hint="Name a pydantic-ai agent, a Hosted, or a function that returns one of them.",
            id="artifactr.W020",
        )
