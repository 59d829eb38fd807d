"""What a record is made of: what comes in, what is read out of it, and its hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from artifacts.core.artifact import artifact_type
from artifacts.core.errors import ValidationFailed
from artifacts.core.values import AddressPart, Id, Text, Value

from .definitions import Collection, ScalarType
from .schemas import schema_errors

# The kind of a keyed collection that names none.
MAINTAINED_VALUE = "maintained_value"
# What both databases index of one value.
FIELD_CHARS = 250
MOST_NUMBER = 2**53
# What search reads of one text.
SEARCHED_CHARS = 65_536
WORD = re.compile(r"\w+")
# What stands between words of ASCII, as spaces.
BREAKS = {code: " " for code in range(128) if not WORD.match(chr(code))}


class RecordInput(Value):
    """One record to keep. `key` goes with a keyed collection, `derived_from` names its evidence."""

    collection: Id
    entity: AddressPart
    type: Id | None = None
    key: AddressPart | None = None
    text: Text = ""
    content: dict[str, Any] = Field(default_factory=dict)
    derived_from: tuple[Id, ...] = ()
    dedupe_key: Annotated[Text, StringConstraints(min_length=1)] | None = None

    @property
    def payload_sha256(self) -> str:
        """The same for the same record, whatever key it is sent under."""
        payload = self.model_dump(mode="json", exclude={"dedupe_key"})
        text = json.dumps(payload, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def kind_of(collection: Collection) -> str | None:
    """The kind of the values at a collection's addresses; events have none."""
    if collection.mode == "event":
        return None
    return collection.kind or MAINTAINED_VALUE


def text_of(kind: str, data: Mapping[str, Any]) -> str:
    """The text of a maintained value: its own, or what its kind shows an agent."""
    text = data.get("text")
    if isinstance(text, str):
        return text
    try:
        return artifact_type(kind).model_validate(data).render_for_agent()
    except (ValidationError, ValidationFailed):  # of an older form of its kind
        return json.dumps(data)


def content_of(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The content that a collection's schema is about."""
    if kind != MAINTAINED_VALUE:
        return dict(data)
    content = data.get("content")
    return content if isinstance(content, dict) else {}


def content_problems(
    collection: Collection, content: Mapping[str, Any], *prefix: str | int
) -> list[dict[str, Any]]:
    """What keeps a content out of a collection: its schema, and the types of declared fields."""
    problems = schema_errors(collection.validator, content, *prefix)
    for name, field in collection.fields.items():
        value = value_at(content, field.path)
        if value is not None and (wrong := _wrong(field.type, value)):
            loc = [*prefix, *field.path.split(".")[1:]]
            problems.append({"loc": loc, "msg": f"field {name} {wrong}", "type": "field"})
    return problems


def field_values(collection: Collection, content: Mapping[str, Any]) -> dict[str, Any]:
    """The declared fields that a content holds."""
    found = {name: value_at(content, each.path) for name, each in collection.fields.items()}
    return {name: value for name, value in found.items() if value is not None}


def searched_text(text: str) -> str:
    """The words of a text as search knows them. They are split here and made small, as servers have
    rules of their own for addresses, file names, numbers and capitals."""
    small = text[:SEARCHED_CHARS].lower()
    # The same words, found in a third of the time where there are no others than these.
    return " ".join(small.translate(BREAKS).split() if small.isascii() else WORD.findall(small))


def value_at(content: Mapping[str, Any], path: str) -> Any:
    """What stands at a path such as `content.signal.kind`; None where nothing does."""
    value: Any = content
    for part in path.split(".")[1:]:
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def digest_of(salt: bytes, text: str, content: str) -> bytes:
    """The hash of what a record says; without its salt nobody can guess a text from it."""
    return hashlib.sha256(salt + text.encode() + b"\0" + content.encode()).digest()


def _wrong(type_: ScalarType, value: Any) -> str | None:
    """What is wrong with the value of a declared field."""
    if type_ == "string":
        if not isinstance(value, str):
            return "must be a string"
        return f"has at most {FIELD_CHARS} characters" if len(value) > FIELD_CHARS else None
    if type_ == "boolean":
        return None if isinstance(value, bool) else "must be a boolean"
    if isinstance(value, bool) or not isinstance(
        value, int if type_ == "integer" else (int, float)
    ):
        return f"must be {'an integer' if type_ == 'integer' else 'a number'}"
    return f"must lie within ±{MOST_NUMBER}" if abs(value) > MOST_NUMBER else None
