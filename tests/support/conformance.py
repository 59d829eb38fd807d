"""The conformance cases: how one is read, and what is compared with what it expects.

A case is a workspace given by its entities, one command (or fact) by one actor, and what must come
of it. Core's tests run them on a dictionary; each surface may run the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from artifacts.core import (
    DEFAULT_LIMITS,
    Actor,
    Limits,
    Proposal,
    Rejection,
    Revision,
    Run,
    Thread,
    actor_adapter,
    command_adapter,
    event_adapter,
    fact_adapter,
    outcome_adapter,
)
from artifacts.core.artifact import validation_failed
from artifacts.core.commands import AnyCommand
from artifacts.core.events import AnyFact
from artifacts.core.patches import same_json
from artifacts.core.state import CommitResult, Group, Stored
from tests.support import kinds
from tests.support.dict_host import DictHost

FOLDER = Path(__file__).parent.parent / "conformance"
FIELDS = {"name", "statement", "actor", "state", "command", "fact", "limits", "kinds", "agents"}
FIELDS |= {"needs", "expect"}
READERS: dict[str, TypeAdapter[Any]] = {
    "events": event_adapter,
    "artifacts": TypeAdapter(Stored),
    "revisions": TypeAdapter(Revision),
    "proposals": TypeAdapter(Proposal),
    "groups": TypeAdapter(Group),
    "threads": TypeAdapter(Thread),
    "runs": TypeAdapter(Run),
    "messages": TypeAdapter(str),
}
REGISTERED = kinds  # importing the module registers what the cases name


@dataclass(frozen=True)
class Case:
    """One case as its file has it."""

    file: str
    raw: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.file}: {self.raw['name']}"

    @property
    def actor(self) -> Actor:
        return actor_adapter.validate_python(self.raw["actor"])

    @property
    def limits(self) -> Limits:
        return replace(DEFAULT_LIMITS, **self.raw.get("limits", {}))

    @property
    def entities(self) -> dict[str, list[Any]]:
        return {
            family: [READERS[family].validate_python(each) for each in entities]
            for family, entities in self.raw.get("state", {}).items()
        }

    @property
    def expected(self) -> dict[str, Any]:
        expected: dict[str, Any] = self.raw["expect"]
        return expected

    def item(self) -> AnyCommand | AnyFact:
        """The command or fact; one of a wrong form is refused as every surface refuses it."""
        try:
            if "fact" in self.raw:
                return fact_adapter.validate_python(self.raw["fact"])
            return command_adapter.validate_python(self.raw["command"])
        except ValidationError as error:
            raise validation_failed(error) from None

    def host(self) -> DictHost:
        allowed = {
            name: frozenset(self.raw[name]) if name in self.raw else None
            for name in ("kinds", "agents")
        }
        return DictHost(limits=self.limits, **allowed, **self.entities)  # type: ignore[arg-type]

    def run(self, host: DictHost) -> CommitResult:
        item = self.item()
        if "fact" in self.raw:
            return host.record(item, actor=self.actor)  # type: ignore[arg-type]
        return host.commit(item, actor=self.actor)  # type: ignore[arg-type]

    def differences(self, host: DictHost) -> list[str]:
        """What comes of the case otherwise than it expects; empty when all is as told."""
        expected = self.expected
        try:
            result = self.run(host)
        except Rejection as rejection:
            if "rejection" not in expected:
                return [f"{rejection.payload()}, expected {expected}"]
            return rejection_differences(expected["rejection"], rejection)
        if "rejection" in expected:
            return [f"{result}, expected {expected}"]
        return result_differences(expected, result)


@cache
def cases() -> tuple[Case, ...]:
    """Every case of every file."""
    return tuple(
        Case(path.stem, raw)
        for path in sorted(FOLDER.glob("*.json"))
        for raw in json.loads(path.read_text())
    )


def wire(family: str, entities: Iterable[Any]) -> list[Any]:
    """Entities or events in their JSON form, given as such or as JSON with defaults left out."""
    read = [READERS[family].validate_python(each) for each in entities]
    return [each if isinstance(each, str) else each.wire() for each in read]


def result_differences(expected: dict[str, Any], result: CommitResult) -> list[str]:
    """What is not as a case expects: a family it does not name must be empty."""
    found: list[str] = []
    outcome = outcome_adapter.validate_python(expected["outcome"]).wire()
    if not same_json(outcome, result.outcome.wire()):
        found.append(f"outcome {result.outcome.wire()}, expected {outcome}")
    for family in READERS:
        wanted, got = wire(family, expected.get(family, ())), wire(family, getattr(result, family))
        if not same_json(wanted, got):
            found.append(f"{family} {json.dumps(got)}, expected {json.dumps(wanted)}")
    return found


def rejection_differences(expected: dict[str, Any], rejection: Rejection) -> list[str]:
    """Code and details must be exactly these; of the message only `says` is pinned."""
    payload = rejection.payload()
    said = payload.pop("message")
    wanted = {name: value for name, value in expected.items() if name != "says"}
    if "errors" in payload and "errors" in wanted:
        payload["errors"] = [_pinned(each) for each in payload["errors"]]
        for got, want in zip(payload["errors"], wanted["errors"], strict=False):
            got["loc"] = got["loc"][-len(want["loc"]) :]
    missing = [word for word in expected.get("says", ()) if word not in said]
    found = [f"{payload}, expected {wanted}"] if not same_json(wanted, payload) else []
    return found + [f"{said!r} does not say {word!r}" for word in missing]


def _pinned(error: dict[str, Any]) -> dict[str, Any]:
    """A problem without its words; only the end of its path, as frames put the command deeper."""
    return {"loc": list(error["loc"]), "type": error["type"]}
