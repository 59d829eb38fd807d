"""What a render or a view is given: checked against its declaration, then put into its texts.

Places are filled in one pass, so what a value holds is never read as a place itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from artifacts.core.values import AddressPart, Text

from .definitions import Parameter, ScalarType
from .placeholders import PLACEHOLDER
from .render_errors import ParameterProblem, refused

Scalar: TypeAlias = str | int | float | bool
# None stands for an optional parameter that was left out and has no default.
Values: TypeAlias = dict[str, Scalar | None]

INTEGER_MAX = 2**63 - 1
_text: TypeAdapter[str] = TypeAdapter(Text)
_address_part: TypeAdapter[str] = TypeAdapter(AddressPart)


def checked(declared: Mapping[str, Parameter], given: Mapping[str, Any]) -> Values:
    """The value of every declared parameter, or `artifact_parameter` with all that is wrong."""
    problems = [
        ParameterProblem(str(name)[:64], "is not a parameter of this definition", "extra_forbidden")
        for name in given
        if name not in declared
    ]
    problems += _problems(declared, given)
    if problems:
        raise refused(problems)
    return {
        name: _as_declared(parameter.type, given.get(name, parameter.default))
        for name, parameter in declared.items()
    }


def _problems(
    declared: Mapping[str, Parameter], given: Mapping[str, Any]
) -> Iterator[ParameterProblem]:
    for name, parameter in declared.items():
        if name in given:
            if message := _mistyped(parameter.type, given[name]):
                yield ParameterProblem(name, message, "parameter_type")
        elif parameter.required and parameter.default is None:
            yield ParameterProblem(name, "is required", "missing")


def _mistyped(type_name: ScalarType, value: Any) -> str | None:
    if not _is_of(type_name, value):
        return f"must be of type {type_name}"
    if isinstance(value, str):
        return _unclean(value)
    if isinstance(value, int) and abs(value) > INTEGER_MAX:
        return "must fit in 64 bits"
    return "must be finite" if isinstance(value, float) and not isfinite(value) else None


def _is_of(type_name: ScalarType, value: Any) -> bool:
    match type_name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)


def _unclean(value: str) -> str | None:
    try:
        _text.validate_python(value)
    except ValidationError as error:
        return error.errors()[0]["msg"].removeprefix("Value error, ")
    return None


def _as_declared(type_name: ScalarType, value: Any) -> Scalar | None:
    """1 and 1.0 are the same number, so they are written the same."""
    if type_name == "number" and isinstance(value, float) and value.is_integer():
        return int(value)
    scalar: Scalar | None = value
    return scalar


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with each of its places taken by a value."""
    return PLACEHOLDER.sub(lambda place: values[place.group(1)], text)


def shown(value: Scalar | None) -> str:
    """A value inside a text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def entity_of(text: str, values: Values, *, block: str) -> str:
    """The entity that a definition's text names with these values."""
    entity = filled(text, {name: shown(value) for name, value in values.items()})
    try:
        return _address_part.validate_python(entity)
    except ValidationError:
        message = f"gives block {block!r} no entity of 1 to 500 characters"
        names = [place.group(1) for place in PLACEHOLDER.finditer(text)] or ["entity"]
        problem = ParameterProblem(names[0], message, "entity")
    raise refused([problem])


def arguments(
    declared: Mapping[str, Parameter], params: Mapping[str, Scalar], values: Values
) -> Values:
    """What a block gives its view: a text that is one place alone passes its value on as it is."""
    given = {name: resolved(each, values) for name, each in params.items()}
    return checked(declared, {name: each for name, each in given.items() if each is not None})


def resolved(param: Scalar, values: Values) -> Scalar | None:
    """What a definition passes on; None where that is a parameter that was left out."""
    if not isinstance(param, str):
        return param
    alone = PLACEHOLDER.fullmatch(param)
    if alone is not None:
        return values[alone.group(1)]
    return filled(param, {name: shown(value) for name, value in values.items()})
