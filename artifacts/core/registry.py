"""Types known by name: subclassing registers one, under its own name in snake case unless told."""

from __future__ import annotations

import re
from typing import TypeVar

from .errors import ConfigurationError

T = TypeVar("T")


def snake_case(name: str) -> str:
    """`LaunchPlan` becomes `launch_plan`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def add(registry: dict[str, type[T]], name: str, cls: type[T], *, what: str) -> None:
    """Register a class; the same one may come again, as a reloaded module brings it."""
    known = registry.get(name)
    if known is not None and _path(known) != _path(cls):
        raise ConfigurationError(f"{what} {name!r} is already registered by {_path(known)}")
    registry[name] = cls


def _path(cls: type[object]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
