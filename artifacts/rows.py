"""From the columns of rows to the entities of core, for whoever reads them: selectors and store.

What stands in a row was validated when it was written, so only its JSON is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from .core.actors import actor_adapter
from .core.artifact import Address
from .core.commands import change_adapter
from .core.state import Proposal

ADDRESS_COLUMNS = ("collection", "entity", "key", "type")
# In the order that `as_proposal` takes them.
PROPOSAL_COLUMNS = (
    "public_id", "change", "proposed_by", "rationale", "status", "thread_id", "run_id", "group_id",
    "kind", "base_version", "result",
)  # fmt: skip


def columns_of(row: Any, names: Sequence[str]) -> list[Any]:
    """The values of a model's row under these names."""
    return [getattr(row, name) for name in names]


def as_address(columns: Sequence[Any]) -> Address | None:
    """The address of an artifact, None where it has none."""
    collection, entity, key, type_ = columns
    if collection is None:
        return None
    return Address(collection=collection, entity=entity, key=key, type=type_)


def as_proposal(columns: Sequence[Any]) -> Proposal:
    """A proposal as the rules know it."""
    id, change, proposed_by, rationale, status, thread_id, run_id, group_id, kind, base, result = (
        columns
    )
    return Proposal.model_construct(
        id=id,
        change=change_adapter.validate_json(change),
        proposed_by=actor_adapter.validate_json(proposed_by),
        rationale=rationale,
        status=status,
        thread_id=thread_id,
        run_id=run_id,
        group_id=group_id,
        kind=kind,
        base_version=base,
        result=None if result is None else from_json(result),
    )
