"""The family of contracts: what a declared collection asks of the values at its addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from artifacts.core.state import CommitResult, Contract
from artifacts.extensions import Transaction
from learning.core.definitions import Collection
from learning.core.records import MAINTAINED_VALUE, content_of, content_problems, kind_of
from learning.selectors.catalog import collections_in_force


def load_contracts(tx: Transaction, names: frozenset[str]) -> Mapping[str, Contract | None]:
    """The contracts of these collections; one that is not declared asks nothing."""
    found = collections_in_force(tx.workspace_pk, names)
    return {name: contract_of(found[name].definition) if name in found else None for name in names}


def save_contracts(tx: Transaction, contracts: Sequence[Any], result: CommitResult) -> None:
    """No command changes a contract: `apply_catalog` does."""


def contract_of(collection: Collection) -> Contract:
    """What a collection asks, as the rules of the foundation know it."""
    kind = kind_of(collection)

    def problems(data: dict[str, Any]) -> list[dict[str, Any]]:
        assert kind is not None
        place = ("data", "content") if kind == MAINTAINED_VALUE else ("data",)
        return content_problems(collection, content_of(kind, data), *place)

    return Contract(collection.name, kind, problems)


FAMILY = ("contracts", load_contracts, save_contracts)
