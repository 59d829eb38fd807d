"""Applying a catalog: everything is checked, then all of it is in force, or nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from artifacts import conf
from artifacts.core import registered_kinds
from artifacts.core.errors import NotFound
from artifacts.core.values import Value
from artifacts.workspace import Workspace
from learning.catalog.files import Files, installed_packages, read_folder
from learning.catalog.loader import Entry, Loaded, load
from learning.core.canonical import sha256_of
from learning.core.definitions import AnyDefinition, Package
from learning.core.errors import CatalogInvalid
from learning.core.problems import Finding, Problem
from learning.core.rules.listing import Key
from learning.models import ActiveDefinition, Definition
from learning.selectors import catalog as selectors
from learning.store import catalog as store


class Applied(Value):
    """What applying a package did, or would do; each entry is `type name@version`."""

    package: str
    package_hash: str
    created: tuple[str, ...] = ()
    activated: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


@dataclass(slots=True)
class _Plan:
    """What is to be done, worked out from what the workspace has."""

    created: list[Entry] = field(default_factory=list)
    activated: list[Entry] = field(default_factory=list)
    unchanged: list[Entry] = field(default_factory=list)
    retired: dict[Key, int] = field(default_factory=dict)


def apply_catalog(workspace: Workspace, files: Files, *, check: bool = False) -> Applied:
    """Apply a package of YAML files, by their paths in it; `check` only says what it would do.

    What is wrong is told all at once, as `catalog_invalid`. Applying the same again changes
    nothing; what the package no longer lists is taken out of force, and kept.
    """
    workspace.require("apply_catalog")
    loaded = _checked(workspace, files)
    if check:
        return _told(loaded, _plan(workspace.pk, loaded))
    with workspace.transaction() as tx:
        plan = _plan(tx.workspace_pk, loaded)
        store.add_definitions(tx, [_new(each) for each in plan.created])
        rows = selectors.stored(tx.workspace_pk, loaded.entries)
        package = rows[_package_key(loaded)]
        store.retire(tx, plan.retired)
        store.activate(tx, [rows[each.key] for each in plan.activated], package)
    return _told(loaded, plan)


def files_of(folder: Path) -> Files:
    """The files of a catalog on this machine."""
    return read_folder(folder, limits=conf.limits())


def files_of_package(name: str) -> Files:
    """The files of a package that an installed app ships."""
    found = installed_packages().get(name)
    if found is None:
        raise NotFound("package", name)
    return files_of(found)


def _checked(workspace: Workspace, files: Files) -> Loaded:
    def known(keys: set[Key]) -> Mapping[Key, AnyDefinition]:
        rows = selectors.stored(workspace.pk, keys)
        # Listed and not in these files: it stays as it is, active or not.
        return {key: selectors.parsed(row).model_copy(update={"active": False})
                for key, row in rows.items()}  # fmt: skip

    loaded = load(files, limits=conf.limits(), kinds=frozenset(registered_kinds()), known=known)
    changed = list(_changed(loaded, selectors.stored(workspace.pk, loaded.entries)))
    if loaded.problems or changed:
        problems = sorted([*loaded.problems, *changed], key=lambda each: (each.file, each.line))
        raise CatalogInvalid(problems)
    return loaded


def _changed(loaded: Loaded, rows: Mapping[Key, Definition]) -> Iterator[Problem]:
    """Definitions that the workspace has with another body."""
    for key, entry in loaded.entries.items():
        row = rows.get(key)
        if row is not None and row.sha256 != entry.sha256:
            message = f"{key[0]} {key[1]!r} was applied before with another body: raise its version"
            yield entry.problem(Finding((), "immutable", message))


def _plan(workspace_pk: int, loaded: Loaded) -> _Plan:
    rows = selectors.stored(workspace_pk, loaded.entries)
    if changed := list(_changed(loaded, rows)):
        raise CatalogInvalid(changed)
    active = {
        (each.type, each.name): each
        for each in ActiveDefinition.objects.select_related("package").filter(
            workspace_id=workspace_pk
        )
    }
    plan = _Plan()
    for key, entry in loaded.entries.items():
        row, definition = rows.get(key), entry.definition
        if row is None:
            plan.created.append(entry)
        pointer = active.get((definition.type_name, definition.name))
        is_in_force = row is not None and pointer is not None and pointer.definition_id == row.pk
        if definition.active and not is_in_force:
            plan.activated.append(entry)
        elif row is not None:
            plan.unchanged.append(entry)
    package = loaded.package
    assert package is not None
    plan.retired = _no_longer_listed(package, active)
    return plan


def _no_longer_listed(
    package: Package, active: Mapping[tuple[str, str], ActiveDefinition]
) -> dict[Key, int]:
    listed = {(type_name, ref.split("@")[0]) for type_name, ref in package.listed()}
    return {
        key: pointer.pk
        for key, pointer in active.items()
        if pointer.package.name == package.name and key not in listed and key[0] != "package"
    }


def _package_key(loaded: Loaded) -> Key:
    assert loaded.package is not None
    return "package", loaded.package.ref


def _new(entry: Entry) -> store.NewDefinition:
    definition = entry.definition
    return store.NewDefinition(
        definition.type_name, definition.name, definition.version, entry.body, entry.sha256
    )


def _told(loaded: Loaded, plan: _Plan) -> Applied:
    def names(entries: list[Entry]) -> tuple[str, ...]:
        return tuple(sorted(f"{type_name} {ref}" for type_name, ref in (e.key for e in entries)))

    key = _package_key(loaded)
    return Applied(
        package=key[1],
        package_hash=sha256_of(loaded.entries[key].body),
        created=names(plan.created),
        activated=names(plan.activated),
        retired=tuple(sorted(f"{type_name} {name}" for type_name, name in plan.retired)),
        unchanged=names(plan.unchanged),
    )
