"""Artifact types: subclassing `Artifact` registers a kind; `Versioned` is a stored value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_jsonable_python

from . import registry
from .actors import Actor
from .errors import ConfigurationError, ValidationFailed
from .patches import change_between
from .values import AddressPart, Id, Text, Value

WritePolicy = Literal["direct", "propose"]

_registry: dict[str, type[Artifact]] = {}


class Artifact(BaseModel):
    """Base of every artifact type.

    A subclass is registered under its name in snake case, or under `name=` on its class line;
    `abstract=True` makes it a base that is no kind itself. `write_policy` says whether an agent's
    change is written (`direct`) or becomes a proposal (`propose`); people write either way.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    artifact_kind: ClassVar[str] = ""
    write_policy: ClassVar[WritePolicy] = "direct"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(
        cls, *, name: str | None = None, abstract: bool = False, **kwargs: Any
    ) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.write_policy not in get_args(WritePolicy):
            raise ConfigurationError(
                f"{cls.__qualname__}.write_policy must be one of {get_args(WritePolicy)}"
            )
        cls.artifact_kind = "" if abstract else name or registry.snake_case(cls.__name__)
        if not abstract:
            registry.add(_registry, cls.artifact_kind, cls, what="artifact kind")

    def render_for_agent(self) -> str:
        """What an agent is shown of this value; override it to speak the type's own language."""
        return self.model_dump_json(indent=2)

    def describe_change(self, before: Self) -> str | None:
        """A summary of the change from `before` in the type's own words, or None."""
        return None


class MarkdownArtifact(Artifact, abstract=True):
    """A kind whose body is one Markdown text, edited by anchored replacements."""

    text: Text = ""

    def render_for_agent(self) -> str:
        return self.text


def registered_kinds() -> Mapping[str, type[Artifact]]:
    """Every kind known to this process, by name."""
    return dict(_registry)


def artifact_type(kind: str) -> type[Artifact]:
    """The class of a kind; an unknown one is `validation_failed`."""
    try:
        return _registry[kind]
    except KeyError:
        raise ValidationFailed.at(["kind"], "is not a registered artifact kind") from None


# Pydantic's own messages for these repeat what came in.
_QUIET = {"union_tag_invalid": "is of no known type"}
# What one rejection tells of a hostile input: so many problems, so much of a member's name.
MOST_PROBLEMS = 50
NAME_CHARS = 100


def problems_of(error: ValidationError, *prefix: str | int) -> list[dict[str, Any]]:
    """Pydantic's problems as data: path, message and type, without the offending input."""
    return [
        {
            "loc": [*prefix, *(_shortened(part) for part in problem["loc"])],
            "msg": _QUIET.get(problem["type"], problem["msg"]),
            "type": problem["type"],
        }
        for problem in error.errors(include_url=False, include_context=False, include_input=False)[
            :MOST_PROBLEMS
        ]
    ]


def _shortened(part: str | int) -> str | int:
    return f"{part[:NAME_CHARS]}…" if isinstance(part, str) and len(part) > NAME_CHARS else part


def validation_failed(error: ValidationError, *prefix: str | int) -> ValidationFailed:
    """The rejection that carries what Pydantic found."""
    problems = problems_of(error, *prefix)
    first = problems[0]
    where = ".".join(str(part) for part in first["loc"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    said = f"{first['msg']}{more}"
    return ValidationFailed(f"{where}: {said}" if where else said, errors=problems)


def validated(kind: str, data: Any) -> Artifact:
    """The typed value of `data`, or `validation_failed` with the paths of what is wrong."""
    try:
        return artifact_type(kind).model_validate(data)
    except ValidationError as error:
        raise validation_failed(error, "data") from None


def stored_form(value: Artifact) -> dict[str, Any]:
    """The JSON data of a typed value, as it is kept and sent."""
    data: dict[str, Any] = value.model_dump(mode="json", by_alias=True)
    return data


class Address(Value):
    """The place of a maintained value: a collection, the entity it is about, and a key."""

    collection: Id
    entity: AddressPart
    key: AddressPart
    type: Id | None = None


T = TypeVar("T")
A = TypeVar("A", bound=Artifact)


class Versioned(Value, Generic[T]):
    """One artifact at one version. `data` is a typed value in typed reads, JSON in `State`."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    id: Id
    kind: str
    version: int
    data: T
    updated_by: Actor
    archived: bool = False
    address: Address | None = None

    def edit(self: Versioned[A], fn: Callable[[A], object]) -> Any:
        """An `edit_artifact` command with what `fn` changes in a copy of the data.

        The held value stays as it is; the command is based on the version that was read.
        """
        from .commands import EditArtifact  # commands know artifacts; only this method goes back

        draft = self.data.model_copy(deep=True)
        fn(draft)
        before, after = stored_form(self.data), to_jsonable_python(draft, by_alias=True)
        return EditArtifact(
            artifact_id=self.id, base_version=self.version, patch=change_between(before, after)
        )
