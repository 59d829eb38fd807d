"""A small catalog to change one thing of: as files, or applied to a workspace; and its values."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import yaml

from artifacts import core
from artifacts.workspace import Workspace
from learning.services.catalog import Applied, apply_catalog

Catalog = dict[str, Any]
ENTITY = "agent:ada"

BASE: Catalog = {
    "package": {
        "name": "desk",
        "version": 1,
        "collections": ["skills@1", "outcomes@1", "notes@1", "copies@1"],
        "artifacts": ["prompt@1", "skill@1"],
        "views": ["recent@1"],
        "derivations": ["improve@1"],
    },
    "collections": [
        {
            "name": "skills",
            "version": 1,
            "mode": "keyed",
            "schema": {
                "type": "object",
                "properties": {"level": {"type": "integer", "minimum": 1}},
                "additionalProperties": False,
            },
            "fields": {"level": {"path": "content.level", "type": "integer", "filter": True}},
        },
        {
            "name": "outcomes",
            "version": 1,
            "mode": "event",
            "schema": {
                "type": "object",
                "properties": {
                    "score": {"type": "number"},
                    "label": {"type": "string"},
                    "final": {"type": "boolean"},
                    "extra": {"type": "object"},
                },
                "additionalProperties": False,
            },
            "fields": {
                "score": {
                    "path": "content.score",
                    "type": "number",
                    "filter": True,
                    "sort": True,
                    "project": True,
                },
                "label": {"path": "content.label", "type": "string", "filter": True, "sort": True},
                "final": {"path": "content.final", "type": "boolean", "filter": True},
                "shown": {"path": "content.extra.shown", "type": "string", "project": True},
            },
        },
        {"name": "notes", "version": 1, "mode": "event", "schema": {"type": "object"}},
        {"name": "copies", "version": 1, "mode": "keyed", "schema": {"type": "object"}},
    ],
    "artifacts": [
        {
            "name": "prompt",
            "version": 1,
            "kind": "prompt",
            "lifecycle": "live",
            "parameters": {"entity": {"type": "string"}},
            "blocks": {
                "skill": {
                    "document": {"entity": "{{entity}}", "collections": ["skills"]},
                    "max_tokens": 1000,
                    "required": True,
                },
                "history": {
                    "view": "recent@1",
                    "params": {"entity": "{{entity}}"},
                    "max_tokens": 500,
                },
            },
            "template": "Skill:\n{{skill}}\nHistory:\n{{history}}\n",
            "snapshot": {
                "entity": "{{entity}}",
                "collection": "copies",
                "type": "copy",
                "key": "prompt",
            },
            "learning": {"target_block": "skill", "artifact": "skill@1"},
        },
        {
            "name": "skill",
            "version": 1,
            "kind": "skill",
            "lifecycle": "reviewed",
            "parameters": {"entity": {"type": "string"}},
            "blocks": {
                "skill": {
                    "document": {"entity": "{{entity}}", "collections": ["skills"]},
                    "max_tokens": 1000,
                }
            },
            "template": "{{skill}}",
            "candidate_processor": "improve@1",
            "complete_keys": ["steps", "pitfalls"],
        },
    ],
    "views": [
        {
            "name": "recent",
            "version": 1,
            "parameters": {"entity": {"type": "string"}},
            "scope": {"entity": "{{entity}}", "collections": ["outcomes"]},
        }
    ],
    "derivations": [
        {
            "name": "improve",
            "version": 1,
            "trigger": {"write": {"collections": ["outcomes"]}},
            "sources": {
                "evidence": {"kind": "changes", "collections": ["outcomes"], "max_tokens": 1000},
                "skill": {"kind": "current", "collections": ["skills"], "max_tokens": 1000},
            },
            "tasks": [
                {
                    "name": "draft",
                    "kind": "llm",
                    "prompt": "{{skill}} {{evidence}}",
                    "output_schema": {"type": "object"},
                }
            ],
            "emit": {
                "collection": "skills",
                "keys": ["steps", "pitfalls"],
                "complete": True,
                "review": "required",
            },
        }
    ],
}


def catalog() -> Catalog:
    """A copy of the base, to be changed."""
    return deepcopy(BASE)


def files(catalog: Catalog) -> dict[str, str]:
    """As YAML files: one for the package, one for each list."""
    catalog = json.loads(json.dumps(catalog))  # what is shared would be written as an alias
    made = {"package.yaml": yaml.safe_dump(catalog["package"], sort_keys=False)}
    for section in ("collections", "artifacts", "views", "derivations"):
        if section in catalog:
            text = yaml.safe_dump({section: catalog[section]}, sort_keys=False)
            made[f"{section}/all.yaml"] = text
    return made


def apply(workspace: Workspace, changed: Catalog | None = None) -> Applied:
    return apply_catalog(workspace, files(changed or catalog()))


def put(key: str, text: str, base: int = 0, **address: Any) -> core.PutArtifact:
    """Write a value of Ada's skill over version `base` of it."""
    members = {"collection": "skills", "entity": ENTITY, **address}
    return core.PutArtifact(  # type: ignore[call-arg]
        address=core.Address(key=key, **members),
        kind="maintained_value", data={"text": text, "content": {}}, base_version=base,
    )  # fmt: skip
