"""A recipe in small, and what its blocks found, for tests of rendering."""

from __future__ import annotations

from typing import Any

from artifacts.core.limits import DEFAULT_LIMITS
from learning.core.definitions import Recipe
from learning.core.parameters import checked
from learning.core.render import Found, Identity, Render, Row, render
from learning.core.tokens import OFFLINE, TokenCounter

TEMPLATE = """<skill>
{{skill}}
</skill>
<history>
{{ history }}
</history>
{{task}} & go"""
IDENTITY = Identity("prompt", 3, "ab" * 32)


def recipe(**changed: Any) -> Recipe:
    """A document block and a view block, with room enough."""
    members: dict[str, Any] = {
        "name": "prompt",
        "version": 3,
        "kind": "prompt",
        "lifecycle": "live",
        "parameters": {"entity": {"type": "string"}, "task": {"type": "string", "default": ""}},
        "blocks": {"skill": document(), "history": view()},
        "template": TEMPLATE,
        "learning": {"target_block": "skill", "artifact": "skill@1"},
    }
    return Recipe.model_validate({**members, **changed})


def document(**changed: Any) -> dict[str, Any]:
    source = {"entity": "{{entity}}", "collections": ["skills"]}
    return {"document": source, "max_tokens": 1_000, **changed}


def view(**changed: Any) -> dict[str, Any]:
    return {"view": "recent@1", "max_tokens": 1_000, **changed}


def head(key: str, text: str = "do it", **changed: Any) -> Row:
    members: dict[str, Any] = {
        "collection": "skills",
        "entity": "agent:ada",
        "key": key,
        "record_id": f"rec_{key}",
        "artifact_id": f"art_{key}",
        "version": 1,
    }
    return Row(text=text, **{**members, **changed})


def event(number: int, text: str | None = None) -> Row:
    return Row(
        text=text if text is not None else f"event {number}",
        collection="outcomes",
        entity="agent:ada",
        type="failure",
        record_id=f"rec_{number}",
    )


def rendered(
    made: Recipe | None = None,
    *,
    skill: Found | None = None,
    history: Found | None = None,
    counter: TokenCounter = OFFLINE,
    limits: Any = DEFAULT_LIMITS,
    **parameters: Any,
) -> Render:
    """The base recipe rendered, or a changed one, from what its blocks are said to have found."""
    made = made or recipe()
    given = {"entity": "agent:ada", **parameters}
    found = {
        "skill": skill if skill is not None else Found([head("steps")], "agent:ada"),
        "history": history if history is not None else Found([event(1)], "agent:ada"),
    }
    return render(
        made,
        checked(made.parameters, given),
        {name: found[name] for name in made.blocks},
        counter=counter,
        limits=limits,
        definition=IDENTITY,
    )
