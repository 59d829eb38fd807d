"""The product's own source files, for the rules that read them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("artifacts", "threads", "learning", "feedback", "artifactr_site")


@cache
def modules() -> dict[str, Path]:
    """Every module of the product but its migrations, by its path in the project."""
    found = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {
        path.relative_to(ROOT).as_posix(): path
        for path in found
        if "migrations" not in path.relative_to(ROOT).parts
    }


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(), filename=name)


def calls(name: str) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree(name)) if isinstance(node, ast.Call))


def functions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
