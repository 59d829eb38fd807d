"""Views: what they select from and by what they rank."""

from __future__ import annotations

from collections.abc import Iterator

from learning.core.definitions import View
from learning.core.problems import Finding

from .listing import Listing, declared, places, unlisted_collections
from .recipes import parameter_findings


def view_findings(view: View, listing: Listing) -> Iterator[Finding]:
    """Every rule of one view."""
    yield from parameter_findings(view.parameters)
    known, scope = set(view.parameters), view.scope
    if scope.entity is not None:
        yield from places(scope.entity, known, ("scope", "entity"))
    yield from unlisted_collections(listing, scope.collections, ("scope", "collections"))
    for name, value in scope.where.items():
        at = ("scope", "where", name)
        yield from declared(listing, scope.collections, name, at, use="filter")
        if isinstance(value, str):
            yield from places(value, known, at)
    yield from _order(view, listing, known)


def _order(view: View, listing: Listing, known: set[str]) -> Iterator[Finding]:
    order = view.order
    needed = {"field": "field", "rank": "query"}.get(order.by)
    for member in ("field", "query"):
        given = getattr(order, member) is not None
        if given and member != needed:
            yield Finding(
                ("order", member), "order_member", f"{member} does not go with by: {order.by}"
            )
        if not given and member == needed:
            yield Finding(("order",), "order_incomplete", f"by: {order.by} needs {member}")
    if order.by == "field" and order.field is not None:
        at = ("order", "field")
        yield from declared(listing, view.scope.collections, order.field, at, use="sort")
    if order.query is not None:
        yield from places(order.query, known, ("order", "query"))
