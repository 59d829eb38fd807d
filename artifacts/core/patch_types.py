"""The patch kinds on the wire: JSON Patch (RFC 6902) and anchored text edits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter, model_serializer
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from .values import Text, Value


class _ValueOp(Value):
    """An operation that brings a value: a null one must be written where None is left out."""

    op: str
    path: Text
    value: Any

    @model_serializer(mode="plain")
    def _with_null(self) -> dict[str, Any]:
        return {"op": self.op, "path": self.path, "value": self.value}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        # What is written has the shape of what is read; a plain serializer would hide it.
        return handler({k: v for k, v in core_schema.items() if k != "serialization"})


class AddOp(_ValueOp):
    """Insert into an array, or set a member of an object."""

    op: Literal["add"] = "add"


class ReplaceOp(_ValueOp):
    """Change what is there."""

    op: Literal["replace"] = "replace"


class TestOp(_ValueOp):
    """Go on only if the value there is this one."""

    op: Literal["test"] = "test"


class RemoveOp(Value):
    """Take out what is there."""

    op: Literal["remove"] = "remove"
    path: Text


class MoveOp(Value):
    """Remove at `from` and add at `path`."""

    model_config = ConfigDict(serialize_by_alias=True)

    op: Literal["move"] = "move"
    from_: Text = Field(validation_alias="from", serialization_alias="from")
    path: Text


class CopyOp(Value):
    """Add at `path` what is at `from`."""

    model_config = ConfigDict(serialize_by_alias=True)

    op: Literal["copy"] = "copy"
    from_: Text = Field(validation_alias="from", serialization_alias="from")
    path: Text


Op = Annotated[AddOp | RemoveOp | ReplaceOp | MoveOp | CopyOp | TestOp, Field(discriminator="op")]


class JsonPatch(Value):
    """Operations of RFC 6902, applied in order, all or none."""

    kind: Literal["json_patch"] = "json_patch"
    ops: tuple[Op, ...]


class TextEdit(Value):
    """Replace `old`, which occurs exactly once; an empty `old` writes into an empty field."""

    old: Text
    new: Text


class TextEdits(Value):
    """Edits of one text, each applied to the result of the one before.

    `field` is a member of the data, or a JSON Pointer when it starts with `/`.
    """

    kind: Literal["text_edits"] = "text_edits"
    field: Text = "text"
    edits: tuple[TextEdit, ...]


Patch = Annotated[JsonPatch | TextEdits, Field(discriminator="kind")]
patch_adapter: TypeAdapter[JsonPatch | TextEdits] = TypeAdapter(Patch)
