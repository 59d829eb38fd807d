"""The tables of promises name tests that are there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.feedback import statements as feedback
from tests.threads import statements as threads

STATEMENTS = feedback.STATEMENTS | threads.STATEMENTS
TESTS = Path(__file__).resolve().parents[1]


@cache
def names_in(file: str) -> frozenset[str]:
    nodes = ast.parse((TESTS / file).read_text()).body
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_promise_names_tests_that_are_there(statement: str) -> None:
    assert STATEMENTS[statement]
    for place in STATEMENTS[statement]:
        file, _, name = place.partition("::")
        assert name in names_in(file), place
