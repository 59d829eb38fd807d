"""A recipe rendered for somebody to look at: its text, and what each block cost and lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from artifacts.core.errors import Rejection, ValidationFailed
from artifacts.surfaces.problems import status_of
from artifacts.workspace import Workspace
from learning.core.definitions import Recipe
from learning.core.render import RenderedBlock
from learning.selectors.recipes import recipe_in_force
from learning.services.render import Rendered, render_artifact

from .forms import ParameterForm

WHY = {"tokens": "cut at its token budget", "rows": "cut at the bound on rows"}


@dataclass(frozen=True, slots=True)
class BlockShown:
    """One block in the table: what it cost, and what of it is not in the text."""

    name: str
    reads: str
    tokens: int
    max_tokens: int
    shown: int
    found: int
    required: bool
    why: str


class Preview:
    """The recipe in force, and its render once parameters were sent."""

    def __init__(self, workspace: Workspace, name: str, posted: Any) -> None:
        self.recipe: Recipe = recipe_in_force(workspace, name).recipe
        self.form = ParameterForm(posted, parameters=self.recipe.parameters)
        self.rendered: Rendered | None = None
        self.problem: Rejection | None = None
        if posted is not None and self.form.is_valid():
            self._render(workspace, name)

    @property
    def status(self) -> int:
        if self.problem is not None:
            return status_of(self.problem)
        return 422 if self.form.is_bound and self.rendered is None else 200

    @property
    def blocks(self) -> list[BlockShown]:
        if self.rendered is None:
            return []
        return [self._shown(name, each) for name, each in self.rendered.render.blocks.items()]

    def _render(self, workspace: Workspace, name: str) -> None:
        try:
            self.rendered = render_artifact(workspace, name, self.form.given)
        except Rejection as refused:
            self.problem = refused
            if isinstance(refused, ValidationFailed):
                self._say_at_fields(refused)

    def _say_at_fields(self, refused: ValidationFailed) -> None:
        for error in refused.errors:
            name = str(error["loc"][-1])
            self.form.add_error(name if name in self.form.fields else None, str(error["msg"]))

    def _shown(self, name: str, block: RenderedBlock) -> BlockShown:
        declared = self.recipe.blocks[name]
        document = declared.document
        reads = declared.view or (", ".join(document.collections) if document else "")
        return BlockShown(
            name=name,
            reads=f"{reads} of {block.entity}" if block.entity else reads,
            tokens=block.tokens,
            max_tokens=block.max_tokens,
            shown=len(block.rows),
            found=block.found,
            required=declared.required,
            why=block.error or WHY.get(block.cut_by or "", ""),
        )
