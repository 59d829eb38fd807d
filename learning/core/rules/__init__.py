"""What must hold between the parts of a catalog. Each broken rule is a finding with its own name;
all of them are told, never only the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from learning.core.definitions import AnyDefinition
from learning.core.problems import Finding

from .collections import collection_findings
from .derivations import derivation_findings
from .listing import Listing
from .packages import package_findings
from .recipes import recipe_findings
from .views import view_findings

RULES: dict[str, Callable[[Any, Listing], Iterator[Finding]]] = {
    "collection": collection_findings,
    "artifact": recipe_findings,
    "view": view_findings,
    "derivation": derivation_findings,
    "package": package_findings,
}


def findings(definition: AnyDefinition, listing: Listing) -> Iterator[Finding]:
    """Every rule that a definition breaks, beside what its package lists."""
    return RULES[definition.type_name](definition, listing)


__all__ = ["Listing", "findings"]
