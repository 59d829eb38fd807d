"""Who may reach what: tenants, workspaces, members and API keys. These rows are administration, so
they are edited here: by superusers, members and keys also by the admins of a workspace."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from artifacts import clock
from artifacts.core.actors import actor_adapter
from artifacts.keys import create_key, revoke_keys
from artifacts.models import ApiKey, Membership, Tenant, Workspace
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.event_lines import who

from .tenancy_forms import ApiKeyForm, MemberForm, WorkspaceForm

BADGE = '<span class="artifactr-badge is-{}">{}</span>'


class SuperuserAdmin(admin.ModelAdmin):
    """Rows that superusers alone see and edit. Nothing here is deleted: a log hangs on it."""

    show_full_result_count = False
    actions = None

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_superuser(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def _is_superuser(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)


@admin.register(Tenant)
class TenantAdmin(SuperuserAdmin):
    list_display = ["name", "public_id", "created_at"]
    search_fields = ["name", "public_id"]
    fields = ["name", "public_id", "created_at"]
    readonly_fields = ["public_id", "created_at"]


@admin.register(Workspace)
class WorkspaceAdmin(SuperuserAdmin):
    form = WorkspaceForm
    list_display = ["name", "public_id", "tenant", "head_seq", "last_event_at"]
    list_filter = ["tenant"]
    list_select_related = ["tenant"]
    search_fields = ["name", "public_id"]
    fields = ["name", "tenant", "kinds", "public_id", "head_seq", "last_event_at", "created_at"]
    readonly_fields = ["public_id", "head_seq", "last_event_at", "created_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        # A workspace that changed its tenant would carry one tenant's log to another.
        return [*self.readonly_fields, "tenant"] if obj else list(self.readonly_fields)


class ManagedAdmin(admin.ModelAdmin):
    """Rows of the workspaces that a person administers."""

    show_full_result_count = False

    class Media:
        css = {"all": ["artifactr/desk.css"]}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._manages(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._manages(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._manages(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._manages(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._manages(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        reach = reach_of(request)
        return rows if reach.reads_all else rows.filter(workspace__in=reach.administered)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The form, offering only what this person administers."""
        form = super().get_form(request, obj, change=change, **kwargs)
        if "workspace" in form.base_fields:
            form.base_fields["workspace"].queryset = reach_of(request).administered  # type: ignore[attr-defined]
        return form

    def _manages(self, request: HttpRequest) -> bool:
        user = request.user
        if not (user.is_active and user.is_staff):
            return False
        reach = reach_of(request)
        return reach.reads_all or "admin" in reach.roles.values()


@admin.register(Membership)
class MembershipAdmin(ManagedAdmin):
    """Somebody is made a member under their user name; later only the role changes."""

    list_display = ["user", "workspace", "role"]
    list_filter = ["role"]
    list_select_related = ["user", "workspace"]
    search_fields = ["workspace__name", "workspace__public_id"]
    ordering = ["workspace__name", "pk"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["workspace", "user", "role"] if obj else ["workspace", "username", "role"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["workspace", "user"] if obj else []

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        new = {} if obj else {"form": MemberForm}
        return super().get_form(request, obj, change=change, **{**kwargs, **new})


@admin.register(ApiKey)
class ApiKeyAdmin(ManagedAdmin):
    """Keys are made and revoked; nothing about one changes, and its secret is shown once."""

    list_display = [
        "name",
        "key",
        "role",
        "tenant",
        "workspace",
        "acts_as",
        "state",
        "last_used_at",
    ]
    list_filter = ["role"]
    list_select_related = ["tenant", "workspace"]
    search_fields = ["name", "key_id"]
    ordering = ["-pk"]
    actions = ["revoke"]
    fields = [
        "name", "key", "role", "tenant", "workspace", "acts_as", "state", "created_at",
        "expires_at", "last_used_at",
    ]  # fmt: skip

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return self._manages(request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj:
            return self.fields
        new = ["workspace", "name", "role", "acts_as", "identity", "expires_at"]
        # A key of a whole tenant reaches further than whoever administers a workspace of it.
        return ["tenant", *new] if reach_of(request).reads_all else new

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        new = {} if obj else {"form": ApiKeyForm}
        form = super().get_form(request, obj, change=change, **{**kwargs, **new})
        if not obj:
            form.base_fields["workspace"].required = "tenant" not in form.base_fields
        return form

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        row, text = create_key(
            tenant=form.cleaned_tenant,
            workspace=form.cleaned_data["workspace"],
            name=form.cleaned_data["name"],
            role=form.cleaned_data["role"],
            actor=form.cleaned_actor,
            expires_at=form.cleaned_data["expires_at"],
        )
        obj.pk, obj.key_id = row.pk, row.key_id
        request._artifactr_key = text  # type: ignore[attr-defined]

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: Any = None
    ) -> HttpResponse:
        """The one page that shows the key; a message or redirect would keep it."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": f"API key {obj.name}",
            "key": request._artifactr_key,  # type: ignore[attr-defined]
            "list_url": reverse("admin:artifactr_apikey_changelist"),
        }
        response = TemplateResponse(request, "artifactr/new_key.html", context)
        response.headers["Cache-Control"] = "no-store"
        return response

    @admin.action(description="Revoke selected keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        count = revoke_keys(queryset)
        messages.success(request, f"{count} key{'' if count == 1 else 's'} revoked.")

    @admin.display(description="key")
    def key(self, row: ApiKey) -> str:
        return f"ak_{row.key_id}.…"

    @admin.display(description="acts as")
    def acts_as(self, row: ApiKey) -> str:
        actor = actor_adapter.validate_json(row.actor)
        return f"{who(actor)} ({json.loads(row.actor)['kind'].replace('_', ' ')})"

    @admin.display(description="state")
    def state(self, row: ApiKey) -> SafeString | str:
        if row.revoked_at is not None:
            return format_html(BADGE, "rejected", "revoked")
        if row.expires_at is not None and row.expires_at <= clock.now():
            return format_html(BADGE, "stale", "expired")
        return "usable"
