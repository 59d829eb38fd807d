"""What a package lists, for the rules: definitions by type and `name@version`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from learning.core.definitions import (
    AnyDefinition,
    Collection,
    DeclaredField,
    Definition,
    Derivation,
    Recipe,
    View,
)
from learning.core.placeholders import has_stray_braces, names_in
from learning.core.problems import Finding, Loc

D = TypeVar("D", bound=Definition)

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Listing:
    """`found` are the listed definitions that exist, `listed` all that are named.

    `broken` are those whose form is wrong already; with `is_partial` a whole file could not be
    read. `kinds` are the artifact kinds this process knows.
    """

    found: Mapping[Key, AnyDefinition]
    listed: frozenset[Key]
    kinds: frozenset[str]
    broken: frozenset[Key] = frozenset()
    is_partial: bool = False

    def is_listed(self, model: type[Definition], ref: str) -> bool:
        return (model.type_name, ref) in self.listed

    def get(self, model: type[D], ref: str) -> D | None:
        found = self.found.get((model.type_name, ref))
        return found if isinstance(found, model) else None

    def collection(self, name: str) -> Collection | None:
        """The listed version of a collection; with several, the newest that becomes active."""
        versions = [
            each
            for (type_name, _), each in self.found.items()
            if type_name == "collection" and isinstance(each, Collection) and each.name == name
        ]
        return max(versions, key=lambda each: (each.active, each.version), default=None)

    def recipes(self) -> list[Recipe]:
        return [each for each in self.found.values() if isinstance(each, Recipe)]

    def names_collection(self, name: str) -> bool:
        return any(
            type_name == "collection" and ref.split("@")[0] == name
            for type_name, ref in self.listed
        )


def unlisted_collections(listing: Listing, names: tuple[str, ...], at: Loc) -> Iterator[Finding]:
    """Collections are named without a version, and the package lists them."""
    for index, name in enumerate(names):
        if not listing.names_collection(name):
            yield Finding(
                (*at, index),
                "collection_unlisted",
                f"collection {name!r} is not listed by the package",
            )


def reference(
    listing: Listing, model: type[View] | type[Derivation], ref: str, at: Loc
) -> Iterator[Finding]:
    """A reference by `name@version`, which the package lists."""
    if not listing.is_listed(model, ref):
        what = model.type_name
        yield Finding(at, f"{what}_unlisted", f"{what} {ref!r} is not listed by the package")


def places(text: str, known: set[str], at: Loc) -> Iterator[Finding]:
    """Every `{{name}}` names something, and no other braces stand in a text."""
    for name in dict.fromkeys(names_in(text)):
        if name not in known:
            yield Finding(at, "placeholder_unknown", f"{{{{{name}}}}} names nothing here")
    if has_stray_braces(text):
        yield Finding(at, "placeholder_form", "braces must form a place such as {{name}}")


def declared(
    listing: Listing, collections: tuple[str, ...], name: str, at: Loc, *, use: str
) -> Iterator[Finding]:
    """A field that every collection of a scope declares, for this use."""
    for collection in (listing.collection(each) for each in collections):
        if collection is None:
            continue
        field: DeclaredField | None = collection.fields.get(name)
        if field is None:
            yield Finding(
                at, "field_unknown", f"collection {collection.name!r} declares no field {name!r}"
            )
        elif not getattr(field, use):
            yield Finding(
                at,
                f"field_not_{use}",
                f"field {name!r} of collection {collection.name!r} is not declared for {use}",
            )


def arguments(view: View | None, given: Mapping[str, object], at: Loc) -> Iterator[Finding]:
    """What a view is given: its own parameters, the required ones among them."""
    if view is None:
        return
    for name in given:
        if name not in view.parameters:
            yield Finding(
                (*at, name), "argument_unknown", f"view {view.ref} has no parameter {name!r}"
            )
    for name, parameter in view.parameters.items():
        if parameter.required and parameter.default is None and name not in given:
            yield Finding(at, "argument_missing", f"view {view.ref} needs parameter {name!r}")
