"""Strict JSON: everything that could not be stored and written back unchanged is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.core.errors import ValidationFailed
from artifacts.core.json_input import check_json, parse_json
from artifacts.core.limits import DEFAULT_LIMITS

SMALL = replace(DEFAULT_LIMITS, body_bytes=100, artifact_bytes=50, depth=4, json_nodes=10)

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = {"a": value}
    return value


@given(JSON)
def test_accepts_every_json_value_as_text_and_as_bytes(value: Any) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        for raw in (written, written.encode()):
            parsed = parse_json(raw, limits=DEFAULT_LIMITS)
            assert json.dumps(parsed) == json.dumps(value)
    check_json(value, limits=DEFAULT_LIMITS)


REFUSED = [
    pytest.param(b"", "json_invalid", "not valid JSON", id="empty"),
    pytest.param(b"{'a': 1}", "json_invalid", "not valid JSON at character 1", id="quotes"),
    pytest.param(b"[1] 2", "json_invalid", "not valid JSON", id="trailing"),
    pytest.param(b"[1,]", "json_invalid", "not valid JSON", id="comma"),
    pytest.param(b'["a\x00"]', "json_invalid", "not valid JSON", id="raw-nul"),
    pytest.param(b'["a\n"]', "json_invalid", "not valid JSON", id="raw-newline"),
    pytest.param(b"\xef\xbb\xbf[]", "json_invalid", "not valid JSON", id="byte-order-mark"),
    pytest.param(b'["\xff"]', "json_invalid", "UTF-8", id="not-utf-8"),
    pytest.param(b'["\xed\xa0\x80"]', "json_invalid", "UTF-8", id="surrogate-bytes"),
    pytest.param('["\ud800"]', "json_invalid", "UTF-8", id="surrogate-in-str"),
    pytest.param("[1]".encode("utf-16"), "json_invalid", "UTF-8", id="utf-16"),
    pytest.param(rb'["\ud800"]', "json_text", "lone surrogates", id="surrogate-escape"),
    pytest.param(rb'{"\udfff": 1}', "json_text", "lone surrogates", id="surrogate-name"),
    pytest.param(rb'["a\u0000"]', "json_text", "NUL", id="nul-escape"),
    pytest.param(rb'{"a\u0000": 1}', "json_text", "NUL", id="nul-name"),
    pytest.param(rb'"\u0000"', "json_text", "NUL", id="nul-at-root"),
    pytest.param(b'{"a": 1, "a": 1}', "json_duplicate", "twice", id="duplicate"),
    pytest.param(rb'[{"a": 1, "\u0061": 2}]', "json_duplicate", "twice", id="escaped-duplicate"),
    pytest.param(b"[NaN]", "json_number", "NaN", id="nan"),
    pytest.param(b"-Infinity", "json_number", "infinity", id="infinity"),
    pytest.param(b"[1e999]", "json_number", "not finite", id="float-overflow"),
    pytest.param(b"[9223372036854775808]", "json_number", "64 bits", id="int-too-large"),
    pytest.param(b"[-9223372036854775809]", "json_number", "64 bits", id="int-too-small"),
    pytest.param(b"[" + b"9" * 5_000 + b"]", "json_number", "64 bits", id="int-of-5000-digits"),
    pytest.param(b"[" * 100_000, "too_deep", "32 levels", id="open-100000"),
    pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_deep", "32", id="deep-100000"),
    pytest.param(json.dumps(nested(33)), "too_deep", "32 levels (depth)", id="deep-33"),
    pytest.param(b"[" + b"1," * 50_000 + b"1]", "too_many", "50000 values (json_nodes)", id="n"),
    pytest.param(b" " * 1_048_577, "too_long", "1048576 bytes (body_bytes)", id="size"),
]


@pytest.mark.parametrize(("raw", "kind", "says"), REFUSED)
def test_refuses_and_names_field_and_limit(raw: bytes | str, kind: str, says: str) -> None:
    with pytest.raises(ValidationFailed) as refusal:
        parse_json(raw, limits=DEFAULT_LIMITS, field="frame")

    (error,) = refusal.value.errors
    assert error["loc"] == ["frame"]
    assert error["type"] == kind
    assert says in error["msg"]


def test_refusal_never_repeats_the_input() -> None:
    for raw in ('{"secret": 1, "secret": 2}', '{"secret\\u0000": 1}', '{"secret": secret}'):
        with pytest.raises(ValidationFailed) as refusal:
            parse_json(raw, limits=DEFAULT_LIMITS)
        assert "secret" not in json.dumps(refusal.value.payload())


def test_limits_are_exact() -> None:
    parse_json(b"1" + b" " * 99, limits=SMALL)
    parse_json(json.dumps(nested(4)), limits=SMALL)
    parse_json(json.dumps([0] * 9), limits=SMALL)
    for raw, kind in (
        (b"1" + b" " * 100, "too_long"),
        ("\u00e9" * 60, "too_long"),
        (json.dumps(nested(5)), "too_deep"),
        (json.dumps([0] * 10), "too_many"),
        (json.dumps([[0, 0, 0], [0, 0], [0, 0, 0]]), "too_many"),
    ):
        with pytest.raises(ValidationFailed) as refusal:
            parse_json(raw, limits=SMALL)
        assert refusal.value.errors[0]["type"] == kind


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert parse_json(rb'"\ud83d\ude00"', limits=DEFAULT_LIMITS) == "\U0001f600"


def test_integers_are_exact_up_to_64_bits() -> None:
    assert parse_json("[9223372036854775807]", limits=DEFAULT_LIMITS) == [2**63 - 1]
    assert parse_json("-9223372036854775808", limits=DEFAULT_LIMITS) == -(2**63)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("\0", "json_text"),
        (["\ud800"], "json_text"),
        ({"\ud800": 1}, "json_text"),
        ({1: 2}, "json_type"),
        ((1, 2), "json_type"),
        ([{"a": {1}}], "json_type"),
        ([b"a"], "json_type"),
        (object(), "json_type"),
        (float("nan"), "json_number"),
        ([float("inf")], "json_number"),
        ([2**63], "json_number"),
        (nested(33), "too_deep"),
        (nested(100_000), "too_deep"),
        (CYCLE, "too_deep"),
        ([[0] * 30_000] * 2, "too_many"),
        ("a" * 1_048_575, "too_long"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "value",
)
def test_check_refuses_parsed_values_likewise(value: Any, kind: str) -> None:
    with pytest.raises(ValidationFailed) as refusal:
        check_json(value, limits=DEFAULT_LIMITS)

    assert refusal.value.errors[0]["type"] == kind
    assert refusal.value.errors[0]["loc"] == ["data"]


def test_check_counts_the_bytes_of_the_written_value() -> None:
    check_json("\u00e9" * 24, limits=SMALL)
    with pytest.raises(ValidationFailed, match=r"larger than 50 bytes \(artifact_bytes\)"):
        check_json("\u00e9" * 25, limits=SMALL)
