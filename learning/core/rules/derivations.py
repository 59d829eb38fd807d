"""Derivations: one driver, bounded sources, and results that go where they may."""

from __future__ import annotations

from collections.abc import Iterator

from learning.core.definitions import (
    DRIVERS,
    Derivation,
    FunctionTask,
    RecordSource,
    View,
    ViewSource,
)
from learning.core.problems import Finding
from learning.core.schemas import schema_findings

from .listing import Listing, arguments, declared, places, reference, unlisted_collections

# What every task may name beside the sources and the tasks before it.
ALWAYS_KNOWN = frozenset({"entity"})


def derivation_findings(derivation: Derivation, listing: Listing) -> Iterator[Finding]:
    """Every rule of one derivation."""
    write, at = derivation.trigger.write, ("trigger", "write")
    yield from unlisted_collections(listing, write.collections, (*at, "collections"))
    for name in write.where:
        yield from declared(listing, write.collections, name, (*at, "where", name), use="filter")
    yield from _sources(derivation, listing)
    yield from _tasks(derivation)
    yield from _emit(derivation, listing)


def _sources(derivation: Derivation, listing: Listing) -> Iterator[Finding]:
    drivers = [name for name, each in derivation.sources.items() if each.kind in DRIVERS]
    if len(drivers) != 1:
        kinds = ", ".join(sorted(DRIVERS))
        yield Finding(
            ("sources",),
            "one_driver",
            f"exactly one source is a driver ({kinds}); {len(drivers)} are",
        )
    for name, source in derivation.sources.items():
        at = ("sources", name)
        if isinstance(source, RecordSource):
            yield from unlisted_collections(listing, source.collections, (*at, "collections"))
        elif isinstance(source, ViewSource):
            yield from reference(listing, View, source.view, (*at, "view"))
            yield from arguments(listing.get(View, source.view), source.params, (*at, "params"))
            for member, value in source.params.items():
                if isinstance(value, str):
                    yield from places(value, set(ALWAYS_KNOWN), (*at, "params", member))


def _tasks(derivation: Derivation) -> Iterator[Finding]:
    known = {*ALWAYS_KNOWN, *derivation.sources}
    calls = 0
    for index, task in enumerate(derivation.tasks):
        at = ("tasks", index)
        if task.name in known:
            yield Finding((*at, "name"), "name_twice", f"{task.name!r} is already a name here")
        if not isinstance(task, FunctionTask):
            calls += 1
            yield from places(task.prompt, known, (*at, "prompt"))
            yield from schema_findings(task.output_schema, (*at, "output_schema"))
        known.add(task.name)
    limits = derivation.limits
    if len(derivation.tasks) > limits.tasks:
        yield Finding(("limits", "tasks"), "limit_tasks", "fewer tasks are allowed than declared")
    if calls > limits.model_calls:
        yield Finding(
            ("limits", "model_calls"),
            "limit_model_calls",
            "fewer model calls are allowed than there are tasks for a model",
        )


def _emit(derivation: Derivation, listing: Listing) -> Iterator[Finding]:
    emit = derivation.emit
    if not listing.names_collection(emit.collection):
        yield Finding(
            ("emit", "collection"),
            "collection_unlisted",
            f"collection {emit.collection!r} is not listed by the package",
        )
    collection = listing.collection(emit.collection)
    if emit.complete and emit.keys is None:
        yield Finding(("emit", "complete"), "emit_complete", "complete needs the keys it completes")
    if collection is None:
        return
    if collection.mode == "keyed" and emit.keys is None:
        yield Finding(("emit",), "emit_keys", "what goes to a keyed collection names its keys")
    if collection.mode == "event":
        if emit.keys is not None:
            yield Finding(("emit", "keys"), "emit_keys_event", "a collection of events has no keys")
        if emit.type is None:
            yield Finding(("emit",), "emit_type", "what goes to a collection of events has a type")
    maintained = any(collection.name in each.maintained for each in listing.recipes())
    if maintained and emit.review != "required":
        yield Finding(
            ("emit", "review"),
            "emit_review",
            f"collection {collection.name!r} is maintained by a reviewed artifact: "
            "review must be required",
        )
