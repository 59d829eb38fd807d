"""Files to definitions: every problem of every file is told, none of them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from artifacts.core.artifact import problems_of
from artifacts.core.limits import Limits
from learning.core.canonical import body_of, sha256_of
from learning.core.definitions import MODELS, SECTIONS, AnyDefinition, Package, Recipe
from learning.core.problems import Finding, Loc, Problem
from learning.core.rules import Listing, findings
from learning.core.rules.listing import Key

from .files import PACKAGE_FILE, Files, check_files
from .yaml_text import Located, parse_yaml


@dataclass(frozen=True, slots=True)
class Entry:
    """One definition, the text that is kept of it, and where it stands."""

    definition: AnyDefinition
    body: str
    file: str
    located: Located
    path: Loc

    @property
    def key(self) -> Key:
        return self.definition.type_name, self.definition.ref

    @property
    def sha256(self) -> str:
        return sha256_of(self.body)

    def problem(self, finding: Finding) -> Problem:
        line = self.located.line((*self.path, *finding.loc))
        return Problem(file=self.file, line=line, rule=finding.rule, message=finding.message)


@dataclass(slots=True)
class Loaded:
    """What the files hold. Usable when there are no `problems`."""

    entries: dict[Key, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: set[Key] = field(default_factory=set)
    is_partial: bool = False

    @property
    def package(self) -> Package | None:
        found = (entry.definition for entry in self.entries.values())
        return next((each for each in found if isinstance(each, Package)), None)


Known = Callable[[set[Key]], Mapping[Key, AnyDefinition]]


def load(files: Files, *, limits: Limits, kinds: frozenset[str], known: Known) -> Loaded:
    """Read and check a catalog. `known` finds listed definitions that no file holds."""
    loaded = Loaded(problems=check_files(files, limits=limits))
    if loaded.problems:
        return loaded
    for name in sorted(files):
        _read(loaded, name, files[name], limits)
    if not any(name.startswith("package.") for name in files):
        loaded.problems.append(
            Problem(file=PACKAGE_FILE, line=0, rule="package_missing", message="is missing")
        )
    if len(loaded.entries) > limits.catalog_definitions:
        message = f"holds more than {limits.catalog_definitions} definitions (catalog_definitions)"
        loaded.problems.append(Problem(file="", line=0, rule="definitions", message=message))
    elif loaded.package is not None:
        loaded.problems += _broken_rules(loaded, loaded.package, limits, kinds, known)
    loaded.problems.sort(key=lambda each: (each.file, each.line))
    return loaded


def _broken_rules(
    loaded: Loaded, package: Package, limits: Limits, kinds: frozenset[str], known: Known
) -> Iterator[Problem]:
    listed: set[Key] = set(package.listed())
    found: dict[Key, AnyDefinition] = {
        key: entry.definition for key, entry in loaded.entries.items()
    }
    elsewhere = known({key for key in listed if key not in found and key not in loaded.broken})
    there: dict[Key, AnyDefinition] = {key: found[key] for key in listed if key in found}
    listing = Listing(
        {**elsewhere, **there},
        frozenset(listed),
        kinds,
        frozenset(loaded.broken),
        loaded.is_partial,
    )
    for key, entry in loaded.entries.items():
        if key not in listed and not isinstance(entry.definition, Package):
            yield entry.problem(
                Finding((), "unlisted", f"{key[0]} {key[1]!r} is not listed by the package")
            )
        for finding in findings(entry.definition, listing):
            yield entry.problem(finding)
        if isinstance(entry.definition, Recipe):
            yield from _token_problems(entry, entry.definition, limits)


def _token_problems(entry: Entry, recipe: Recipe, limits: Limits) -> Iterator[Problem]:
    if sum(block.max_tokens for block in recipe.blocks.values()) > limits.render_tokens:
        message = f"all blocks together may take {limits.render_tokens} tokens (render_tokens)"
        yield entry.problem(Finding(("blocks",), "tokens", message))


def _read(loaded: Loaded, name: str, text: str, limits: Limits) -> None:
    located = parse_yaml(text, limits=limits)
    loaded.problems += [
        Problem(file=name, line=each.line, rule=each.rule, message=each.message)
        for each in located.mistakes
    ]
    if located.mistakes:
        loaded.is_partial = True
        return
    if name.startswith("package."):
        _take(loaded, "package", located.value, name, located, ())
        return
    section = name.split("/", 1)[0]
    value = located.value
    entries = value.get(section) if isinstance(value, dict) and set(value) == {section} else None
    if not isinstance(entries, list):
        loaded.is_partial = True
        message = f"must hold one member, {section}, with a list of definitions"
        loaded.problems.append(Problem(file=name, line=1, rule="form", message=message))
        return
    for index, each in enumerate(entries):
        _take(loaded, SECTIONS[section][0], each, name, located, (section, index))


def _take(loaded: Loaded, type_name: str, raw: Any, file: str, located: Located, path: Loc) -> None:
    try:
        definition = MODELS[type_name].model_validate(raw)
    except ValidationError as error:
        if isinstance(raw, dict):
            loaded.broken.add((type_name, f"{raw.get('name')}@{raw.get('version')}"))
        loaded.problems += [_form_problem(each, file, located, path) for each in problems_of(error)]
        return
    entry = Entry(definition, body_of(raw), file, located, path)
    first = loaded.entries.get(entry.key)
    if first is not None:
        where = f"{first.file}:{first.located.line(first.path)}"
        message = f"{type_name} {definition.ref!r} is already defined in {where}"
        loaded.problems.append(entry.problem(Finding((), "defined_twice", message)))
        return
    loaded.entries[entry.key] = entry


def _form_problem(error: dict[str, Any], file: str, located: Located, path: Loc) -> Problem:
    loc = _told(error, located, path)
    where = ".".join(str(part) for part in loc)
    message = f"{where}: {error['msg']}" if where else error["msg"]
    return Problem(file=file, line=located.line((*path, *loc)), rule="form", message=message)


def _told(error: dict[str, Any], located: Located, path: Loc) -> Loc:
    """The path as the file has it: without the names of the types that were tried."""
    told: Loc = ()
    *around, last = error["loc"] or ("",)
    for part in around:
        if (*path, *told, part) in located.lines:
            told = (*told, part)
    is_real = error["type"] == "missing" or (*path, *told, last) in located.lines
    return (*told, last) if is_real and error["loc"] else told
