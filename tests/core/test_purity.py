"""Core is pure: it can be imported and used where there is no framework, clock or chance."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

import artifacts.core as core
from artifacts.core import State
from artifacts.core.state import CommitResult, Needs
from tests.support.conformance import cases

FOLDER = Path(core.__file__).parent
SOURCES = sorted(FOLDER.rglob("*.py"))
FRAMEWORKS = ("django", "rest_framework", "channels", "celery", "pydantic_ai", "psycopg", "redis")
IMPURE = {"random", "time", "secrets", "uuid", "os", "io", "socket", "threading", "asyncio"}
CLOCK_CALLS = {"now", "utcnow", "today", "time", "monotonic"}


def test_importing_it_loads_no_framework() -> None:
    script = "import sys, artifacts.core; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "pydantic" in loaded
    assert not loaded.intersection(FRAMEWORKS)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_module_reaches_neither_clock_nor_chance(path: Path) -> None:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), "core is synchronous"
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in CLOCK_CALLS, "time comes from the host"
    allowed = {"secrets"} if path.name == "ids.py" else set()
    assert found & IMPURE == allowed


def test_every_rule_and_door_is_in_the_public_names() -> None:
    assert set(core.__all__) == {name for name in core.__all__ if hasattr(core, name)}
    unions = (core.commands.AnyCommand, core.events.AnyKnownEvent)
    for model in (each for union in unions for each in union.__args__):
        assert getattr(core, model.__name__) is model
        words = "".join(part.capitalize() for part in model.model_fields["type"].default.split("_"))
        assert model.__name__ == words


def _values() -> list[BaseModel]:
    given = [core.CreateThread(title="x"), core.UserActor(id="1"), core.AppEvent(name="x")]
    found = [each for case in cases() for entities in case.entities.values() for each in entities]
    one_of_each = {type(each): each for each in [*given, *found] if isinstance(each, BaseModel)}
    return list(one_of_each.values())


@pytest.mark.parametrize("value", _values(), ids=lambda value: type(value).__name__)
def test_values_are_immutable(value: BaseModel) -> None:
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, "other")


@pytest.mark.parametrize("value", [State(), Needs(), CommitResult(core.Recorded())])
def test_state_and_results_are_immutable(value: object) -> None:
    with pytest.raises(AttributeError):
        value.artifacts = {}  # type: ignore[attr-defined]


def test_an_empty_state_cannot_be_filled_in_place() -> None:
    with pytest.raises(TypeError):
        State().artifacts["art_1"] = None  # type: ignore[index]


def test_needs_are_falsy_when_nothing_is_missing() -> None:
    assert not Needs()
    assert Needs(messages=frozenset({"msg_1"}))
    state = State().with_loaded("artifacts", {"art_x": None})
    assert not state.missing({"artifacts": {"art_x"}}), "looked up and absent counts as seen"
    assert state.missing({"artifacts": {"art_x", "art_y"}}).artifacts == {"art_y"}
