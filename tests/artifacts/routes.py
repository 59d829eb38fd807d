"""Every route of the REST surface, read from the code, so that a new one cannot go untested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("get", "post", "put", "patch", "delete")
APPS = {"artifacts_api", "threads_api", "learning_api", "feedback_api"}
EXAMPLES = {"version": "1", "use_id": "use_" + "0" * 32}


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    name: str

    def __str__(self) -> str:
        return f"{self.method} {self.template}"

    def path(self, **given: str) -> str:
        """The route with ids in place; unknown ones unless given."""
        return self.template.format_map(_Ids({**EXAMPLES, **given}))

    @property
    def is_in_workspace(self) -> bool:
        return "{workspace_id}" in self.template


class _Ids(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"{name}_unknown"


def routes() -> list[Route]:
    """Each method of each route, but streams."""
    return [
        Route(method.upper(), _template(path), str(pattern.name))
        for path, pattern in _ours()
        for method in METHODS
        if hasattr(_view_class(pattern), method) and not _is_stream(pattern)
    ]


def streams() -> list[Route]:
    """The routes whose answers do not end."""
    return [
        Route("GET", _template(path), str(pattern.name))
        for path, pattern in _ours()
        if _is_stream(pattern)
    ]


def _ours() -> Iterator[tuple[str, URLPattern]]:
    return _patterns(get_resolver().url_patterns, "/", is_ours=False)


def _patterns(patterns: Any, prefix: str, *, is_ours: bool) -> Iterator[tuple[str, URLPattern]]:
    for each in patterns:
        path = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            inside = is_ours or each.app_name in APPS
            yield from _patterns(each.url_patterns, path, is_ours=inside)
        elif is_ours:
            yield path, each


def _view_class(pattern: URLPattern) -> Any:
    return getattr(pattern.callback, "cls", None)


def _is_stream(pattern: URLPattern) -> bool:
    """Plain asynchronous views, which a class only describes."""
    return iscoroutinefunction(pattern.callback)


def _template(path: str) -> str:
    for converter in ("str:", "int:"):
        path = path.replace(f"<{converter}", "{")
    return path.replace(">", "}")
