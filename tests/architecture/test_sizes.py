"""Small files that say what they are for, named by what they hold."""

import ast

import pytest

from tests.architecture.source import PACKAGES, functions, modules, tree

MOST_LINES = 400
MOST_FUNCTION_LINES = 50
EMPTY_NAMES = {"utils", "helpers", "common", "misc", "util", "helper"}


@pytest.mark.parametrize("name", modules())
def test_a_file_holds_one_thing(name: str) -> None:
    lines = len(modules()[name].read_text().splitlines())
    assert lines <= MOST_LINES, "two things live here: give each its own file"


@pytest.mark.parametrize("name", modules())
def test_a_function_fits_a_look(name: str) -> None:
    long = [
        f"{name}:{node.lineno} {node.name}"
        for node in functions(name)
        if (node.end_lineno or node.lineno) - node.lineno >= MOST_FUNCTION_LINES
    ]
    assert not long, "name the steps and make them functions"


@pytest.mark.parametrize("name", modules())
def test_a_module_says_what_it_is_for(name: str) -> None:
    assert ast.get_docstring(tree(name)), "open with one to six lines: what for, what it leaves out"


@pytest.mark.parametrize("name", modules())
def test_a_module_is_named_by_its_contents(name: str) -> None:
    parts = set(name.removesuffix(".py").split("/"))
    assert not parts & EMPTY_NAMES, "name it by what it holds"


@pytest.mark.parametrize("name", modules())
def test_own_imports_stand_at_the_top(name: str) -> None:
    hidden = [
        f"{name}:{node.lineno}"
        for function in functions(name)
        if function.name != "ready"
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES
    ]
    assert not hidden, "a hidden import is a layer that does not hold: move the code instead"
