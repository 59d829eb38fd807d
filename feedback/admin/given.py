"""Typed feedback at the desk: what was given, and a page to give it on one thing."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.db.models.functions import Left, Length
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods
from pydantic import TypeAdapter, ValidationError

from artifacts import core
from artifacts.core.commands import Target
from artifacts.core.errors import ArtifactrError, ValidationFailed
from artifacts.core.events import Envelope
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.event_lines import who
from artifacts.surfaces.object_pages import WorkspaceAdmin, as_http, page_of
from artifacts.surfaces.problems import status_of
from artifacts.workspace import Workspace
from feedback.models import GivenFeedback

from .places import WorkspaceFilter
from .verdict_form import VerdictForm

# Of a longer envelope a row says only the columns beside it.
TEXT_CHARS = 6_000
SHOWN = 80

_target: TypeAdapter[Any] = TypeAdapter(Target)


class TypeFilter(SimpleListFilter):
    """By feedback type, of those that are registered."""

    title = parameter_name = "feedback"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.replace("_", " ")) for name in sorted(core.registered_feedback_types())]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        return queryset.filter(text__contains=f'"feedback_type":"{value}"')


@admin.register(GivenFeedback)
class GivenFeedbackAdmin(WorkspaceAdmin):
    by_id = "feedback"
    read_action = "read_events"
    reach_fields = {"artifact": "artifact_id", "thread": "thread_id", "mentions": "mentions"}
    list_display = ["what", "about", "by", "moment", "workspace"]
    list_display_links = ["what"]
    list_filter = [WorkspaceFilter, TypeFilter]
    list_select_related = ["workspace__tenant"]
    search_fields = ["=public_id", "=thread_id", "=run_id", "=actor_key"]
    search_help_text = "Id of an event, thread or run, or the key of a participant"
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[GivenFeedback]:
        rows: QuerySet[GivenFeedback] = super().get_queryset(request)
        return rows.defer("text", "salt", "digest", "chain").annotate(
            text_start=Left("text", TEXT_CHARS), text_chars=Length("text")
        )

    def url_of(self, row: Any) -> str:
        """Feedback is an event, and shown as one."""
        return page_of("event", row.workspace.public_id, row.public_id) or ""

    def get_urls(self) -> list[URLPattern]:
        view = require_http_methods(["GET", "HEAD", "POST"])(self.give_view)
        give = path(
            "give/<str:workspace_id>/",
            self.admin_site.admin_view(view),
            name="artifactr_give_feedback",
        )
        return [give, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return HttpResponseRedirect(self.url_of(self.row_or_404(request, object_id)))

    @admin.display(description="feedback")
    def what(self, row: Any) -> SafeString:
        event = _event(row)
        if event is None:
            return format_html("{} characters", f"{row.text_chars:,}")
        said = ", ".join(
            f"{name}: {each}" for name, each in event.value.items() if each is not None
        )
        return format_html(
            '<span class="artifactr-badge">{}</span> <span class="artifactr-under">{}</span>',
            event.feedback_type.replace("_", " "),
            f"{said[:SHOWN]}…" if len(said) > SHOWN else said,
        )

    @admin.display(description="about")
    def about(self, row: Any) -> SafeString:
        event = _event(row)
        if event is None:
            return format_html("{}", "")
        name, href = _named(row.workspace.public_id, event.target)
        return format_html('<a href="{}">{}</a>', href, name) if href else format_html("{}", name)

    @admin.display(description="given by", ordering="actor_key")
    def by(self, row: Any) -> str:
        envelope = _envelope(row)
        return who(envelope.actor) if envelope else row.actor_key

    @admin.display(description="at", ordering="at")
    def moment(self, row: Any) -> str:
        return date_format(timezone.localtime(row.at), "j M H:i")

    @as_http()
    def give_view(self, request: HttpRequest, workspace_id: str) -> HttpResponse:
        """Judge the one thing that the address names, by one of the types that may."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        workspace = reach_of(request).open(workspace_id)
        workspace.require("give_feedback")
        target = _asked(request)
        name, href = _named(workspace_id, target)
        forms_ = _forms(target, request.POST if request.method == "POST" else None)
        problem: ArtifactrError | None = None
        sent = next((each for each in forms_ if each.is_bound), None)
        if sent is not None and sent.is_valid():
            try:
                seq = _give(workspace, sent, target)
            except ArtifactrError as refused:
                problem = refused
                if isinstance(refused, ValidationFailed):
                    sent.refuse(refused)
            else:
                messages.success(request, f"Your feedback is seq {seq} of the log.")
                return HttpResponseRedirect(href or request.get_full_path())
        is_refused = request.method == "POST"
        return self.page(
            request,
            None,
            "artifactr_feedback/give.html",
            title=f"Feedback on {name}",
            status=status_of(problem) if problem else 422 if is_refused else 200,
            name=name,
            href=href,
            forms=forms_,
            problem=problem,
            is_refused=is_refused,
        )


def _event(row: Any) -> core.FeedbackGiven | None:
    envelope = _envelope(row)
    event = envelope.event if envelope else None
    return event if isinstance(event, core.FeedbackGiven) else None


def _envelope(row: Any) -> Envelope | None:
    """What a row's text says, if the row has all of it."""
    if not row.text_start or row.text_chars > TEXT_CHARS:
        return None
    return Envelope.model_validate_json(row.text_start)


def _asked(request: HttpRequest) -> Any:
    """The target that an address names."""
    asked: dict[str, Any] = {name: value for name, value in request.GET.items() if value}
    if str(asked.get("version", "")).isdecimal():
        asked["version"] = int(asked["version"])
    try:
        return _target.validate_python(asked)
    except ValidationError:
        raise Http404 from None


def _forms(target: Any, posted: Any) -> list[VerdictForm]:
    """A form for each type that may judge such a thing; the one that was sent has what was sent."""
    sent = posted.get("feedback_type") if posted is not None else None
    found = sorted(core.registered_feedback_types().items())
    return [
        VerdictForm(cls, posted if name == sent else None)
        for name, cls in found
        if target.kind in cls.targets
    ]


def _give(workspace: Workspace, form: VerdictForm, target: Any) -> int:
    command = core.GiveFeedback(feedback_type=form.type, target=target, value=form.value)
    seq = workspace.commit(command).seq
    assert seq is not None
    return seq


def _named(workspace_id: str, target: Any) -> tuple[str, str | None]:
    """What is judged in words, and where it is shown."""
    match target:
        case core.ArtifactTarget(artifact_id=id, version=version):
            page = page_of("artifact", workspace_id, id)
            return f"{id} version {version}", page and f"{page}?{urlencode({'version': version})}"
        case core.TurnTarget(run_id=id):
            return f"run {id}", page_of("run", workspace_id, id)
        case core.MessageTarget(message_id=id, thread_id=thread_id):
            return f"message {id}", page_of("thread", workspace_id, thread_id)
        case _:
            return f"thread {target.thread_id}", page_of("thread", workspace_id, target.thread_id)
