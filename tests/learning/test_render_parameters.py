"""What a recipe is given is of the declared form, or refused with all that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from learning.core.definitions import Parameter
from learning.core.parameters import arguments, checked, entity_of, filled, resolved, shown
from learning.core.render_errors import ArtifactParameter

DECLARED = {
    "entity": Parameter(),
    "top": Parameter(type="integer", default=3),
    "least": Parameter(type="number", required=False),
    "brief": Parameter(type="boolean", default=False),
}


def refused(given: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ArtifactParameter) as found:
        checked(DECLARED, given)
    assert found.value.code == "artifact_parameter"
    return [(each["loc"][1], each["type"]) for each in found.value.errors]


def test_defaults_are_taken_and_what_is_optional_may_stay_away() -> None:
    assert checked(DECLARED, {"entity": "a"}) == {
        "entity": "a", "top": 3, "least": None, "brief": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("entity", 1), ("entity", None), ("entity", ["a"]), ("entity", True),
        ("top", "3"), ("top", True), ("top", 3.0), ("top", 2**63), ("top", None),
        ("least", "1"), ("least", False), ("least", float("nan")), ("least", float("inf")),
        ("brief", 0), ("brief", "true"),
        ("entity", "a\0b"), ("entity", "\ud800"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(name: str, value: Any) -> None:
    assert refused({"entity": "a", name: value}) == [(name, "parameter_type")]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    assert sorted(refused({"top": "x", "strange": 1})) == [
        ("entity", "missing"), ("strange", "extra_forbidden"), ("top", "parameter_type"),
    ]  # fmt: skip


def test_no_refusal_repeats_the_value() -> None:
    with pytest.raises(ArtifactParameter) as found:
        checked(DECLARED, {"entity": "a", "top": "canary"})
    assert "canary" not in str(found.value.payload())


def test_equal_numbers_are_written_the_same() -> None:
    values = [checked(DECLARED, {"entity": "a", "least": each})["least"] for each in (1, 1.0)]
    assert [shown(each) for each in values] == ["1", "1"]
    assert [shown(each) for each in (0.25, True, None, "x")] == ["0.25", "true", "", "x"]


def test_an_entity_is_made_of_values_as_they_are() -> None:
    values = checked(DECLARED, {"entity": "ada & <bob>"})
    assert entity_of("agent:{{entity}}/{{ top }}", values, block="b") == "agent:ada & <bob>/3"


@pytest.mark.parametrize("value", ["", "x" * 501])
def test_an_entity_must_be_one(value: str) -> None:
    with pytest.raises(ArtifactParameter, match="entity"):
        entity_of("{{entity}}", checked(DECLARED, {"entity": value}), block="skill")


def test_a_values_own_places_stay_text() -> None:
    assert filled("{{a}} {{b}}", {"a": "{{b}}", "b": "{{a}}"}) == "{{b}} {{a}}"


def test_a_view_gets_values_with_their_types() -> None:
    values = checked(DECLARED, {"entity": "ada"})
    declared = {"who": Parameter(), "most": Parameter(type="integer"),
                "least": Parameter(type="number", required=False)}  # fmt: skip
    params = {"who": "agent:{{entity}}", "most": "{{top}}", "least": "{{least}}"}
    assert arguments(declared, params, values) == {"who": "agent:ada", "most": 3, "least": None}
    assert resolved(7, values) == 7


def test_a_view_refuses_what_its_own_declaration_refuses() -> None:
    with pytest.raises(ArtifactParameter, match="most"):
        arguments({"most": Parameter(type="integer")}, {"most": "{{entity}}"},
                  checked(DECLARED, {"entity": "ada"}))  # fmt: skip
