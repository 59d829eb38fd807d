"""Bodies, queries and answers of the routes of uses."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictBool, StringConstraints

from artifacts.core.values import Id, Value
from artifacts.surfaces.openapi import page_model
from artifacts.surfaces.pagination import PageQuery
from feedback.selectors import UseInfo
from learning.selectors.records import RecordInfo


class RenderBody(Value):
    """What a recipe is rendered with."""

    parameters: dict[str, Any] = Field(default_factory=dict)


class BindBody(RenderBody):
    """The same for a bind; with `snapshot` a copy of the text is kept."""

    snapshot: StrictBool = False


class RecipeInfo(Value):
    """Which definition rendered."""

    name: str
    version: int
    definition_hash: str


class Bound(Value):
    """A use with its text."""

    id: str
    content: str
    artifact: RecipeInfo
    render_sha256: str
    telemetry_attributes: dict[str, str | int]
    snapshot_id: str | None
    learning_target: dict[str, Any] | None
    expires_at: str | None
    truncated: bool


class RenderAnswer(Value):
    """A rendered text that no use names, with what it was made from."""

    content: str
    render_sha256: str
    tokens: int
    truncated: bool
    learning_target: dict[str, Any] | None
    manifest: dict[str, Any]


RecipeRef = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}(@[1-9][0-9]{0,8})?$")]


class UseQuery(PageQuery):
    """Which uses: of a recipe, `name` or `name@version`; bound on the record `head`."""

    recipe: RecipeRef | None = None
    head: Id | None = None

    @property
    def name_and_version(self) -> tuple[str | None, int | None]:
        if self.recipe is None:
            return None, None
        name, _, version = self.recipe.partition("@")
        return name, int(version) if version else None


UsePage = page_model(UseInfo, name="UsePage")
SignalPage = page_model(RecordInfo, name="SignalPage")
