"""Small files that say what they are for, named by what they hold."""

import ast

from tests.architecture.source import PACKAGES, functions, modules, tree

MOST_LINES = 400
MOST_FUNCTION_LINES = 50
# Whose hidden import stays, and why.
JUSTIFIED = {
    "artifacts/core/artifact.py": "a read value offers edit(), and commands are made of artifacts",
    "artifactr_site/docplan/serving.py": "loading the application opens its web side for good",
    "feedback/telemetry.py": "what it asks of the OpenTelemetry SDK is loaded where one is set up",
}
EMPTY_NAMES = {"utils", "helpers", "common", "misc", "util", "helper"}


def test_a_file_holds_one_thing() -> None:
    long = [
        name for name, path in modules().items() if len(path.read_text().splitlines()) > MOST_LINES
    ]
    assert not long, "two things live here: give each its own file"


def test_a_function_fits_a_look() -> None:
    long = [
        f"{name}:{node.lineno} {node.name}"
        for name in modules()
        for node in functions(name)
        if (node.end_lineno or node.lineno) - node.lineno >= MOST_FUNCTION_LINES
    ]
    assert not long, "name the steps and make them functions"


def test_a_module_says_what_it_is_for() -> None:
    silent = [name for name in modules() if tree(name).body and not ast.get_docstring(tree(name))]
    assert not silent, "open with one to six lines: what it is for, what it leaves to others"


def test_a_module_is_named_by_its_contents() -> None:
    empty = [
        name for name in modules() if EMPTY_NAMES.intersection(name.removesuffix(".py").split("/"))
    ]
    assert not empty, "name it by what it holds"


def test_own_imports_stand_at_the_top() -> None:
    hidden = [
        f"{name}:{node.lineno}"
        for name in modules()
        if name not in JUSTIFIED
        for function in functions(name)
        if function.name != "ready"
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom)
        and (node.level or (node.module or "").split(".")[0] in PACKAGES)
    ]
    assert not hidden, "a hidden import is a layer that does not hold: move the code instead"
