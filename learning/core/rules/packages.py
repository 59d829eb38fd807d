"""Packages: what is listed exists, once, and one version of a name becomes active."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from learning.core.definitions import SECTIONS, Package
from learning.core.problems import Finding

from .listing import Listing


def package_findings(package: Package, listing: Listing) -> Iterator[Finding]:
    """Every rule of one package."""
    for section, (type_name, _) in SECTIONS.items():
        refs: tuple[str, ...] = getattr(package, section)
        active: Counter[str] = Counter()
        for index, ref in enumerate(refs):
            at = (section, index)
            if ref in refs[:index]:
                yield Finding(at, "listed_twice", f"{type_name} {ref!r} is listed twice")
                continue
            found = listing.found.get((type_name, ref))
            if found is None:
                if listing.is_partial or (type_name, ref) in listing.broken:
                    continue
                yield Finding(
                    at, "listed_missing", f"{type_name} {ref!r} is listed and nowhere defined"
                )
            elif found.active:
                active[found.name] += 1
                if active[found.name] == 2:
                    yield Finding(
                        at,
                        "active_twice",
                        f"two listed versions of {type_name} {found.name!r} are active: "
                        "set active: false on the older one",
                    )
