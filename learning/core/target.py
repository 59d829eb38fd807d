"""What feedback on a render should improve: the values in force that were shown in one block."""

from __future__ import annotations

from typing import Any

from .definitions import Recipe
from .render import Identity, Render


def learning_target(
    recipe: Recipe, render: Render, improved: Identity, *, kind: str
) -> dict[str, Any] | None:
    """The heads shown in the target block, and the run that promoted all of them, if one did.

    None where no head was in force: nothing may then be held responsible. `improved` is the
    reviewed recipe that owns these values, `kind` its kind.
    """
    assert recipe.learning is not None
    name = recipe.learning.target_block
    assert name is not None
    block = render.blocks[name]
    if not block.rows:
        return None
    heads = [
        {
            "collection": row.collection,
            "key": row.key,
            "record_id": row.record_id,
            "run_id": row.run_id,
        }
        for row in block.rows
    ]
    runs = {head["run_id"] for head in heads}
    return {
        "artifact": {**improved.wire(), "kind": kind},
        "entity": block.entity,
        "block": name,
        "heads": heads,
        # Heads of several runs were not promoted together: naming one would be a guess.
        "base_run_id": runs.pop() if len(runs) == 1 else None,
    }
