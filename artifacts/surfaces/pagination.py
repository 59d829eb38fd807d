"""Lists as cursor pages, oldest first: `{"results": […], "next": url or null}`.

A reader fetches one entry more than the page holds; that there is one more is what makes `next`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from .. import conf
from ..core.errors import ValidationFailed
from ..core.values import Id, Value

T = TypeVar("T", bound=Value)


class PageQuery(Value):
    """Which page: what comes after this cursor, and how much of it."""

    after: Id | None = None
    limit: Annotated[int, Field(ge=1)] | None = None

    @property
    def size(self) -> int:
        """Entries of the page; asking for more than the site gives is an error, not a surprise."""
        return page_size(self.limit)


def page_size(asked: int | None, *, field: str = "limit") -> int:
    """The number asked for, or the default; never more than `page_max`."""
    limits = conf.limits()
    if asked is None:
        return limits.page
    if asked > limits.page_max:
        raise ValidationFailed.at([field], f"must not exceed {limits.page_max} (page_max)")
    return asked


def page(
    request: Request,
    found: Sequence[T],
    *,
    size: int,
    cursor: Callable[[T], str | int],
) -> dict[str, Any]:
    """The page of `found`, which was asked for with `size + 1` entries."""
    shown = found[:size]
    following = cursor(shown[-1]) if len(found) > size else None
    return {"results": [each.wire() for each in shown], "next": next_url(request, following)}


def next_url(request: Request, after: str | int | None, *, name: str = "after") -> str | None:
    """This request's URL, moved on; None at the end."""
    if after is None:
        return None
    return replace_query_param(request.build_absolute_uri(), name, str(after))
