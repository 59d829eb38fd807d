"""The base of admin classes over a workspace's rows: read-only, seen by membership, own pages.

Who has no membership finds no row, in lists, pages, filters and autocomplete alike. Rows are shown
on pages of our own, which links can name by public id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.forms import Media
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, path, reverse

from ..core.errors import Forbidden, NotFound
from .admin_reach import reach_of
from .live_pages import added_media, live_list
from .readonly_admin import ReadOnlyAdmin

ROWS = 50


def page_of(model: str, workspace_id: str, public_id: str | None) -> str | None:
    """Where a row is shown, by its public id; None where its app has no admin."""
    if public_id is None:
        return None
    try:
        return reverse(f"admin:artifactr_{model}_by_id", args=[workspace_id, public_id])
    except NoReverseMatch:
        return None


@contextmanager
def as_http() -> Iterator[None]:
    """What a door says to a reader, in Django's words; also a decorator of views."""
    try:
        yield
    except Forbidden as refused:
        raise PermissionDenied(refused.message) from refused
    except NotFound:
        raise Http404 from None


class PageList(ChangeList):
    """A list whose rows open our own pages and know who reads them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        for row in self.result_list:
            row.reach = reach_of(request)

    def url_for_result(self, result: Any) -> str:
        page: str = self.model_admin.url_of(result)  # type: ignore[attr-defined]
        return page


class WorkspaceAdmin(ReadOnlyAdmin):
    """Rows of a workspace. `page_template` shows one, `page_context` says with what."""

    # What reading these rows is called, and their columns that name what a host may hide.
    read_action = "read_workspace"
    reach_fields: dict[str, str] = {}
    page_template = ""
    # What links call this model: `artifactr_<by_id>_by_id`.
    by_id: str | None = None
    list_per_page = ROWS
    show_full_result_count = False
    actions: Sequence[Any] | None = None
    change_list_template = "artifactr/change_list.html"
    # What a script that follows the log makes of the list, if it is to be followed.
    live_as: str | None = None

    @property
    def media(self) -> Media:
        return super().media + Media(css={"all": ["artifactr/desk.css"]}) + added_media()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        user = request.user
        return bool(user.is_active and user.is_staff) and not reach_of(request).is_empty

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        return reach_of(request).narrow(rows, action=self.read_action, **self.reach_fields)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return PageList

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        live = live_list(request, self.live_as) if self.live_as else None
        return super().changelist_view(request, {"live": live, **(extra_context or {})})

    def url_of(self, row: Model) -> str:
        return reverse(f"admin:{self._route}_change", args=[row.pk])

    @property
    def _route(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def get_urls(self) -> list[URLPattern]:
        if self.by_id is None:
            return super().get_urls()
        view = self.admin_site.admin_view(self.by_id_view)
        name = f"artifactr_{self.by_id}_by_id"
        return [
            path("of/<str:workspace_id>/<str:public_id>/", view, name=name),
            *super().get_urls(),
        ]

    def by_id_view(self, request: HttpRequest, workspace_id: str, public_id: str) -> HttpResponse:
        """From a public id to the page of its row."""
        found = self.get_queryset(request).filter(
            workspace__public_id=workspace_id, public_id=public_id
        )
        row = found.first()
        if row is None:
            raise Http404
        return HttpResponseRedirect(self.url_of(row))

    @as_http()
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.row_or_404(request, object_id)
        return self.page(request, row, self.page_template, **self.page_context(request, row))

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Django's own list of edits is empty for rows that nobody edits here."""
        raise Http404

    def row_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The row, if this person may see it: a foreign one answers as an unknown one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        return row

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return {}

    def page(
        self,
        request: HttpRequest,
        row: Any,
        template: str,
        *,
        status: int = 200,
        title: str = "",
        **context: Any,
    ) -> HttpResponse:
        """One of our pages, inside the admin's frame."""
        return TemplateResponse(
            request,
            template,
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "media": self.media,
                "scripts": added_media().render_js(),
                "title": title or str(row),
                "row": row,
                "list_url": reverse(f"admin:{self._route}_changelist"),
                **context,
            },
            status=status,
        )
