"""Collections: their schema, their declared fields, their kind."""

from __future__ import annotations

from collections.abc import Iterator

from learning.core.definitions import Collection
from learning.core.problems import Finding
from learning.core.schemas import schema_findings

from .listing import Listing


def collection_findings(collection: Collection, listing: Listing) -> Iterator[Finding]:
    """Whether its contents can be checked and its fields be asked for."""
    yield from schema_findings(collection.content_schema, ("schema",))
    if collection.mode == "event" and collection.kind is not None:
        yield Finding(("kind",), "kind_event", "only a keyed collection has an artifact kind")
    elif collection.kind is not None and collection.kind not in listing.kinds:
        yield Finding(
            ("kind",), "kind_unknown", f"{collection.kind!r} is not a registered artifact kind"
        )
    for name, field in collection.fields.items():
        if not (field.filter or field.sort or field.project):
            yield Finding(
                ("fields", name),
                "field_unused",
                "a declared field is for filter, sort or project; this one is for none",
            )
