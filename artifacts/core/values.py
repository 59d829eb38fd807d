"""The building blocks of every wire model: immutable values and bounded strings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)


def _clean(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain lone surrogates") from None
    return text


def _no_slash(text: str) -> str:
    if "/" in text:
        raise ValueError("must not contain '/'")
    return text


Text = Annotated[str, AfterValidator(_clean)]
AddressPart = Annotated[
    str, StringConstraints(min_length=1, max_length=500), AfterValidator(_clean)
]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_clean)]
FilledText = Annotated[str, StringConstraints(min_length=1), AfterValidator(_clean)]
Id = Annotated[
    str,
    StringConstraints(min_length=1, max_length=128),
    AfterValidator(_clean),
    AfterValidator(_no_slash),
]


id_adapter: TypeAdapter[str] = TypeAdapter(Id)


def is_id(text: Any) -> bool:
    """Whether this could be a public id; nothing else is looked up or said back."""
    try:
        id_adapter.validate_python(text)
    except ValidationError:
        return False
    return True


class Value(BaseModel):
    """An immutable value of the protocol; what it does not declare is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def wire(self) -> dict[str, Any]:
        """The JSON form: members that were left out or are None stay out."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)
