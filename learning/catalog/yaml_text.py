"""YAML as data with line numbers, and only such YAML as is JSON written more comfortably.

Refused: aliases and anchors (with which a small text unfolds to a huge value), tags, merge keys,
keys given twice, several documents. A plain scalar is null, true, false or a number as JSON writes
them, and a text otherwise: dates, `yes` and `0x10` stay the texts they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from artifacts.core.limits import Limits
from learning.core.problems import Loc

LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

NULLS = frozenset({"", "~", "null"})
BOOLEANS = {"true": True, "false": False}
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# Beyond these, JSON numbers lose digits on their way (RFC 8785).
MOST_INTEGER = 2**53 - 1
MOST_DIGITS = 400


@dataclass(slots=True)
class Mistake(Exception):
    """What is wrong with a text, and in which line."""

    line: int
    rule: str
    message: str


@dataclass(slots=True)
class Located:
    """A value, and the line of each of its parts by path; `mistakes` make it unusable."""

    value: Any = None
    lines: dict[Loc, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def line(self, path: Loc) -> int:
        """The line of a part, or of the nearest part around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse_yaml(text: str, *, limits: Limits) -> Located:
    """Read one document; what is wrong with it stands in `mistakes`."""
    builder = _Builder(limits)
    try:
        for event in _events(text):
            builder.take(event)
    except Mistake as mistake:
        builder.located.mistakes.append(mistake)
    return builder.located


def _events(text: str) -> Iterator[Any]:
    if "\0" in text:
        raise Mistake(text[: text.index("\0")].count("\n") + 1, "yaml", "must not contain NUL")
    try:
        text.encode()
        yield from yaml.parse(text, Loader=LOADER)
    except UnicodeEncodeError:
        raise Mistake(1, "yaml", "must not contain lone surrogates") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise Mistake(line, "yaml", f"is not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError:
        raise Mistake(
            1, "yaml", "is not YAML: it holds characters that YAML does not know"
        ) from None


@dataclass(slots=True)
class _Open:
    """A mapping or list that is being read; `key` waits for its value."""

    value: dict[str, Any] | list[Any]
    path: Loc
    key: str | None = None


class _Builder:
    """Takes one event after another, so that no depth of the text is a depth of calls."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.located = limits, Located()
        self.open: list[_Open] = []
        self.documents = self.nodes = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise Mistake(line, "yaml_documents", "holds more than one document")
        elif isinstance(event, yaml.AliasEvent):
            raise Mistake(line, "yaml_alias", "aliases are not allowed: write the value out")
        elif isinstance(event, yaml.CollectionEndEvent):
            self.open.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._node(event, line)

    def _node(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            raise Mistake(line, "yaml_alias", "anchors are not allowed: write the value out")
        if event.tag is not None:
            raise Mistake(line, "yaml_tag", "tags are not allowed: write plain values")
        self.nodes += 1
        if self.nodes > self.limits.json_nodes:
            raise Mistake(line, "yaml_size", f"has more than {self.limits.json_nodes} values")
        top = self.open[-1] if self.open else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(top, event, line)
            return
        path = self._path(top)
        self.located.lines.setdefault(path, line)
        if isinstance(event, yaml.ScalarEvent):
            self._put(top, self._scalar(event, line))
            return
        if len(self.open) >= self.limits.depth:
            raise Mistake(line, "yaml_depth", f"is nested deeper than {self.limits.depth} levels")
        container: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._put(top, container)
        self.open.append(_Open(container, path))

    def _key(self, top: _Open, event: Any, line: int) -> None:
        if not isinstance(event, yaml.ScalarEvent) or not event.value:
            raise Mistake(line, "yaml_key", "a key must be a text")
        if event.value == "<<":
            raise Mistake(line, "yaml_merge", "merge keys are not allowed: write the members out")
        top.key = event.value
        path = (*top.path, top.key)
        if top.key in top.value:
            shown = top.key if len(top.key) <= 100 else f"{top.key[:100]}…"
            self.located.mistakes.append(Mistake(line, "yaml_twice", f"key {shown!r} stands twice"))
        self.located.lines[path] = line

    def _path(self, top: _Open | None) -> Loc:
        if top is None:
            return ()
        return (*top.path, len(top.value) if isinstance(top.value, list) else top.key or "")

    def _put(self, top: _Open | None, value: Any) -> None:
        if top is None:
            self.located.value = value
        elif isinstance(top.value, list):
            top.value.append(value)
        else:
            assert top.key is not None
            top.value[top.key] = value
            top.key = None

    def _scalar(self, event: Any, line: int) -> Any:
        text: str = event.value
        if event.style:  # quoted, or a block of text
            return text
        if text in NULLS:
            return None
        if text in BOOLEANS:
            return BOOLEANS[text]
        if NUMBER.fullmatch(text) is None:
            return text
        value = float(text) if len(text) > MOST_DIGITS or not INTEGER.fullmatch(text) else int(text)
        if abs(value) > MOST_INTEGER and (isinstance(value, int) or value in (_INF, -_INF)):
            raise Mistake(
                line, "yaml_number", "a number must stay below 2^53; quote a text of digits"
            )
        return value


_INF = float("inf")
