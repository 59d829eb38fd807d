"""Feedback types: subclassing `Feedback` registers one, with the kinds of target it may judge."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from . import registry
from .artifact import validation_failed
from .errors import ConfigurationError, ValidationFailed

TargetKind = Literal["artifact", "thread", "turn", "message"]
TARGET_KINDS: frozenset[str] = frozenset(get_args(TargetKind))

_registry: dict[str, type[Feedback]] = {}


class Feedback(BaseModel):
    """Base of every feedback type: `class Rating(Feedback, name="rating", targets={"turn"})`."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    feedback_type: ClassVar[str] = ""
    targets: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(
        cls,
        *,
        name: str | None = None,
        targets: Collection[TargetKind] = (),
        abstract: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if abstract:
            return
        unknown = frozenset(targets) - TARGET_KINDS
        if unknown or not targets:
            raise ConfigurationError(
                f"{cls.__qualname__}: targets must be some of {sorted(TARGET_KINDS)}"
            )
        cls.feedback_type = name or registry.snake_case(cls.__name__)
        cls.targets = frozenset(targets)
        registry.add(_registry, cls.feedback_type, cls, what="feedback type")

    def to_signal(self) -> Mapping[str, Any] | None:
        """What this says of the text that a turn ran on, as fields of a learning signal: its `kind`
        at least. None, as here, where it says nothing of that."""
        return None


def registered_feedback_types() -> Mapping[str, type[Feedback]]:
    """Every feedback type known to this process, by name."""
    return dict(_registry)


def validated_feedback(feedback_type: str, target_kind: str, value: Any) -> dict[str, Any]:
    """The value as it is logged, defaults filled in; anything that does not fit is refused."""
    cls = _registry.get(feedback_type)
    if cls is None:
        raise ValidationFailed.at(["feedback_type"], "is not a registered feedback type")
    if target_kind not in cls.targets:
        raise ValidationFailed.at(
            ["target", "kind"], f"{feedback_type!r} judges only {sorted(cls.targets)}"
        )
    try:
        stored: dict[str, Any] = cls.model_validate(value).model_dump(mode="json", by_alias=True)
    except ValidationError as error:
        raise validation_failed(error, "value") from None
    return stored
