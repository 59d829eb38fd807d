"""Artifacts (recipes): their blocks and texts, their lifecycle, and what may learn from them.

What learns must name an exact base version, which is why its rules are strict: a document block,
in force, required, maintained by a reviewed artifact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from learning.core.definitions import Block, Learning, Parameter, Recipe, ScalarType, View
from learning.core.definitions import Derivation as DerivationModel
from learning.core.placeholders import names_in
from learning.core.problems import Finding, Loc

from .listing import Listing, arguments, places, reference, unlisted_collections

EXACT = re.compile(r"[a-z][a-z0-9_]{0,63}@[1-9][0-9]{0,8}")
PYTHON: dict[ScalarType, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def recipe_findings(recipe: Recipe, listing: Listing) -> Iterator[Finding]:
    """Every rule of one recipe."""
    yield from parameter_findings(recipe.parameters)
    for name, block in recipe.blocks.items():
        yield from _block(recipe, block, listing, ("blocks", name))
    yield from _template(recipe)
    yield from _snapshot(recipe, listing)
    yield from _lifecycle(recipe, listing)
    if recipe.learning is not None:
        yield from _LearningRules(recipe, recipe.learning, listing).findings()


def parameter_findings(parameters: Mapping[str, Parameter]) -> Iterator[Finding]:
    """A default is of its parameter's type."""
    for name, parameter in parameters.items():
        default, types = parameter.default, PYTHON[parameter.type]
        is_bool = isinstance(default, bool) and parameter.type != "boolean"
        if default is not None and (is_bool or not isinstance(default, types)):
            yield Finding(
                ("parameters", name, "default"),
                "parameter_default",
                f"the default of {name!r} is not of its type {parameter.type!r}",
            )


def _block(recipe: Recipe, block: Block, listing: Listing, at: Loc) -> Iterator[Finding]:
    if (block.document is None) == (block.view is None):
        yield Finding(at, "block_source", "a block has either a document or a view")
        return
    if block.view is not None:
        yield from reference(listing, View, block.view, (*at, "view"))
        yield from arguments(listing.get(View, block.view), block.params, (*at, "params"))
        for name, value in block.params.items():
            if isinstance(value, str):
                yield from places(value, set(recipe.parameters), (*at, "params", name))
    if block.document is not None:
        document = (*at, "document")
        if block.params:
            yield Finding((*at, "params"), "block_params", "only a view takes params")
        yield from places(block.document.entity, set(recipe.parameters), (*document, "entity"))
        names = block.document.collections
        yield from unlisted_collections(listing, names, (*document, "collections"))
        yield from _keyed(listing, names, (*document, "collections"))


def _keyed(listing: Listing, names: tuple[str, ...], at: Loc) -> Iterator[Finding]:
    for index, name in enumerate(names):
        collection = listing.collection(name)
        if collection is not None and collection.mode != "keyed":
            yield Finding(
                (*at, index),
                "document_events",
                f"a document reads keyed collections; {name!r} holds events",
            )


def _template(recipe: Recipe) -> Iterator[Finding]:
    yield from places(recipe.template, {*recipe.parameters, *recipe.blocks}, ("template",))
    used = set(names_in(recipe.template))
    for name in recipe.blocks:
        if name not in used:
            yield Finding(
                ("blocks", name), "block_unused", f"block {name!r} has no place in the template"
            )
    for name in sorted(set(recipe.parameters) & set(recipe.blocks)):
        yield Finding(("blocks", name), "name_twice", f"{name!r} is both a parameter and a block")


def _snapshot(recipe: Recipe, listing: Listing) -> Iterator[Finding]:
    target = recipe.snapshot
    if target is None:
        return
    for member in ("entity", "key"):
        yield from places(getattr(target, member), set(recipe.parameters), ("snapshot", member))
    at = ("snapshot", "collection")
    if not listing.names_collection(target.collection):
        yield Finding(
            at,
            "collection_unlisted",
            f"collection {target.collection!r} is not listed by the package",
        )
    collection = listing.collection(target.collection)
    if collection is not None and collection.mode != "keyed":
        yield Finding(at, "snapshot_events", "a snapshot goes to a keyed collection")


def _lifecycle(recipe: Recipe, listing: Listing) -> Iterator[Finding]:
    if recipe.lifecycle == "live":
        for member in ("candidate_processor", "complete_keys"):
            if getattr(recipe, member) is not None:
                yield Finding((member,), "live_member", f"{member} belongs to a reviewed artifact")
        return
    keys = recipe.complete_keys
    if keys is None:
        message = "a reviewed artifact names its complete_keys"
        yield Finding(("complete_keys",), "reviewed_keys", message)
    elif len(set(keys)) < len(keys):
        yield Finding(("complete_keys",), "reviewed_keys_twice", "complete_keys names a key twice")
    yield from _maintained(recipe, listing)
    if recipe.candidate_processor is not None:
        yield from _processor(recipe, recipe.candidate_processor, listing)


def _maintained(recipe: Recipe, listing: Listing) -> Iterator[Finding]:
    if not recipe.maintained:
        message = "a reviewed artifact has a document block to maintain"
        yield Finding(("blocks",), "reviewed_document", message)
    for other in listing.recipes():
        both = other.maintained & recipe.maintained
        if both and other.name != recipe.name:
            message = f"collection {min(both)!r} is maintained by {other.ref} too"
            yield Finding(("blocks",), "maintained_twice", message)


def _processor(recipe: Recipe, ref: str, listing: Listing) -> Iterator[Finding]:
    at = ("candidate_processor",)
    yield from reference(listing, DerivationModel, ref, at)
    derivation = listing.get(DerivationModel, ref)
    if derivation is not None and derivation.emit.collection not in recipe.maintained:
        message = "its derivation emits into no maintained collection"
        yield Finding(at, "processor_collection", message)


@dataclass(frozen=True, slots=True)
class _LearningRules:
    """Declaring what should learn."""

    recipe: Recipe
    learning: Learning
    listing: Listing

    def findings(self) -> Iterator[Finding]:
        for member in ("target_block", "artifact"):
            if getattr(self.learning, member) is None:
                yield Finding(
                    ("learning",),
                    f"learning_without_{member}",
                    f"learning needs {member}: both members are required",
                )
        block = None
        if self.learning.target_block is not None:
            block = self.recipe.blocks.get(self.learning.target_block)
            yield from self._target(block)
        if self.learning.artifact is not None:
            yield from self._artifact(self.learning.artifact, block)

    def _target(self, block: Block | None) -> Iterator[Finding]:
        at, name = ("learning", "target_block"), self.learning.target_block
        if block is None:
            yield Finding(at, "learning_block_unknown", f"there is no block {name!r} to improve")
            return
        if block.document is None:
            yield Finding(
                at,
                "learning_block_view",
                f"block {name!r} is a view: a ranked selection has no base version to improve",
            )
        elif block.document.status != "active":
            yield Finding(
                at,
                "learning_block_status",
                f"block {name!r} must read status 'active': a base is what a run really ran on",
            )
        if not block.required:
            yield Finding(
                at,
                "learning_block_optional",
                f"block {name!r} must be required: without it there would be nothing to improve",
            )

    def _artifact(self, ref: str, block: Block | None) -> Iterator[Finding]:
        at = ("learning", "artifact")
        if EXACT.fullmatch(ref) is None:
            yield Finding(
                at,
                "learning_artifact_inexact",
                "learning.artifact must be an exact reference such as name@1",
            )
            return
        if not self.listing.is_listed(Recipe, ref):
            yield Finding(
                at, "learning_artifact_unlisted", f"artifact {ref!r} is not listed by the package"
            )
        owner = self.listing.get(Recipe, ref)
        if owner is None:
            return
        if owner.lifecycle != "reviewed":
            yield Finding(
                at,
                "learning_artifact_live",
                f"artifact {ref!r} is live: only a reviewed one has a promotion to build on",
            )
        elif block is not None and block.document is not None:
            strange = sorted(set(block.document.collections) - owner.maintained)
            if strange:
                yield Finding(
                    at,
                    "learning_artifact_collections",
                    f"artifact {ref!r} does not maintain {', '.join(map(repr, strange))}",
                )
