"""YAML as comfortable JSON: what is taken, what is refused, and in which line."""

from __future__ import annotations

import pytest

from artifacts.core.limits import DEFAULT_LIMITS
from learning.catalog.yaml_text import parse_yaml


def parse(text: str) -> object:
    located = parse_yaml(text, limits=DEFAULT_LIMITS)
    assert not located.mistakes
    return located.value


def mistake(text: str) -> tuple[int, str]:
    [found] = parse_yaml(text, limits=DEFAULT_LIMITS).mistakes
    assert found.message
    return found.line, found.rule


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", 1),
        ("a: -2.5e3", -2500.0),
        ("a: true", True),
        ("a: null", None),
        ("a: ~", None),
        ("a:", None),
        ("a: '1'", "1"),
        ('a: "true"', "true"),
        ("a: |\n  1\n", "1\n"),
        ("a: [1, x]", [1, "x"]),
        # What YAML 1.1 makes dates, booleans and odd numbers of are texts here.
        ("a: 2026-11-30", "2026-11-30"),
        ("a: 12:30:45", "12:30:45"),
        ("a: yes", "yes"),
        ("a: off", "off"),
        ("a: 010", "010"),
        ("a: 0x10", "0x10"),
        ("a: 1_000", "1_000"),
        ("a: .inf", ".inf"),
        ("a: .nan", ".nan"),
    ],
)
def test_a_scalar_is_what_json_would_say(text: str, value: object) -> None:
    found = parse(text)
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x 1\nb: 2", (1, "yaml_alias")),
        ("b: 2\na: *x", (2, "yaml_alias")),
        ("b: 2\na: !!python/object/apply:os.system [x]", (2, "yaml_tag")),
        ("a: !!str 1", (1, "yaml_tag")),
        ("b: 2\n<<: {a: 1}", (2, "yaml_merge")),
        ("a: 1\nb: 2\na: 3", (3, "yaml_twice")),
        ("a: 1\n---\nb: 1", (2, "yaml_documents")),
        ("a: 1\n? [b]\n: c", (2, "yaml_key")),
        ("a: 1\nb: [", (2, "yaml")),
        ("a: 1\nb: x\0y", (2, "yaml")),
        ("a: \ud800", (1, "yaml")),
        ("a: 9007199254740992", (1, "yaml_number")),
        ("a: 1e999", (1, "yaml_number")),
        ("[" * 40, (1, "yaml_depth")),
        ("\n".join("  " * n + "a:" for n in range(40)), (33, "yaml_depth")),
    ],
)
def test_what_json_does_not_know_is_refused_in_its_line(
    text: str, expected: tuple[int, str]
) -> None:
    line, rule = mistake(text)
    assert rule == expected[1]
    assert abs(line - expected[0]) <= (1 if rule == "yaml" else 0), line


def test_a_bomb_is_refused_before_it_unfolds() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert mistake("\n".join(lines)) == (1, "yaml_alias")


def test_so_many_values_and_no_more() -> None:
    text = "- x\n" * (DEFAULT_LIMITS.json_nodes + 1)
    assert mistake(text)[1] == "yaml_size"


def test_every_part_knows_its_line() -> None:
    located = parse_yaml("a: 1\nb:\n  - c: 2\n    d: 3\n  - e\n", limits=DEFAULT_LIMITS)
    assert located.line(("a",)) == 1
    assert located.line(("b", 0, "d")) == 4
    assert located.line(("b", 1)) == 5
    assert located.line(("b", 0, "nothing", "here")) == 3
