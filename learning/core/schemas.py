"""JSON Schema (2020-12) of contents and outputs, within bounds.

No schema is fetched and none refers to itself; patterns are matched in linear time; how much a
schema may unfold to is limited, so that no catalog makes a check of one value expensive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
from pydantic_core import from_json, to_json

from .problems import Finding, Loc

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Members that would make a schema reach outside itself or choose its target at run time.
REFUSED = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$vocabulary")
# Schemas after every local reference is replaced by what it names.
MOST_UNFOLDED = 2_000
MOST_ERRORS = 20
MESSAGE_CHARS = 200
REGEX_BYTES = 1_000_000


def schema_findings(schema: dict[str, Any], at: Loc) -> Iterator[Finding]:
    """What keeps a schema from being used."""
    if schema.get("$schema", DIALECT) != DIALECT:
        yield Finding((*at, "$schema"), "schema", f"only {DIALECT} is spoken")
        return
    for loc, member in _members(schema, at):
        if member in REFUSED:
            yield Finding((*loc, member), "schema", f"{member} is not allowed in a schema")
            return
    try:
        _unfold(schema, schema, (), [MOST_UNFOLDED])
        compiled(schema)
    except _Unusable as unusable:
        yield Finding(at, "schema", str(unusable))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        yield Finding(at, "schema", f"is no JSON Schema: {_first_line(error)}")


def compiled(schema: Mapping[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """The validator of a schema."""
    return _compiled(to_json(schema))


def schema_errors(
    validator: jsonschema_rs.Draft202012Validator, value: Any, *prefix: str | int
) -> list[dict[str, Any]]:
    """What a value lacks, one entry each as in `ValidationFailed`; the value is not repeated."""
    found: list[dict[str, Any]] = []
    if validator.is_valid(value):  # the usual case, known sooner
        return found
    for error in validator.iter_errors(value):
        loc = [*prefix, *(_short(part) for part in error.instance_path)]
        found.append({"loc": loc, "msg": error.message[:MESSAGE_CHARS], "type": "schema"})
        if len(found) == MOST_ERRORS:
            break
    return found


class _Unusable(Exception):
    """The schema would cost too much, or leads nowhere."""


@lru_cache(maxsize=512)
def _compiled(text: bytes) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        from_json(text),
        pattern_options=jsonschema_rs.RegexOptions(
            size_limit=REGEX_BYTES, dfa_size_limit=REGEX_BYTES
        ),
        mask="the value",
        retriever=_no_retrieval,
    )


def _no_retrieval(uri: str) -> Any:
    raise ValueError("schemas are not fetched")


def _members(value: Any, loc: Loc) -> Iterator[tuple[Loc, str]]:
    """The members of every object in a schema; names below `properties` are no keywords."""
    waiting: list[tuple[Any, Loc, bool]] = [(value, loc, True)]
    while waiting:
        node, at, is_schema = waiting.pop()
        if isinstance(node, dict):
            for name, child in node.items():
                if is_schema:
                    yield at, name
                if not is_schema or name not in ("enum", "const", "default", "examples"):
                    is_map = is_schema and name in MAPS
                    waiting.append((child, (*at, name), not is_map))
        elif isinstance(node, list):
            waiting += [(child, (*at, index), True) for index, child in enumerate(node)]


# Keywords whose members are names of the author's own, each with a schema.
MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})


def _unfold(root: Any, node: Any, inside: tuple[str, ...], left: list[int]) -> None:
    """Walk a schema as its check would, references followed, and count."""
    if isinstance(node, list):
        for child in node:
            _unfold(root, child, inside, left)
        return
    if not isinstance(node, dict):
        return
    left[0] -= 1
    if left[0] < 0:
        raise _Unusable(f"unfolds to more than {MOST_UNFOLDED} schemas")
    for name, child in node.items():
        if name == "$ref":
            if child in inside:
                raise _Unusable("refers to itself")
            _unfold(root, _named(root, child), (*inside, child), left)
        elif name not in ("enum", "const", "default", "examples", "$defs", "definitions"):
            _unfold(root, child, inside, left)


def _named(root: Any, ref: Any) -> Any:
    """What a local reference such as `#/$defs/step` names."""
    if not isinstance(ref, str) or not ref.startswith("#/"):
        raise _Unusable("$ref must name a part of this schema, such as '#/$defs/step'")
    node = root
    for part in ref[2:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or name not in node:
            raise _Unusable("$ref names nothing in this schema")
        node = node[name]
    return node


def _short(part: str | int) -> str | int:
    return f"{part[:100]}…" if isinstance(part, str) and len(part) > 100 else part


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:MESSAGE_CHARS]
