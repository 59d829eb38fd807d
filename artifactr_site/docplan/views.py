"""The page where people and the agent work: one workspace each, for those who may see it.

The server says who looks and where the log stood; what is shown comes from REST and the socket, as
any client would get it.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from pydantic_core import to_json

from artifacts.surfaces.authentication import Principal, Unauthorized, open_for, principal_of
from artifacts.surfaces.object_pages import as_http
from artifacts.surfaces.reach import describe, reachable
from artifacts.workspace import Workspace

CHOICES = 100
# What the page offers only to those who may do it; the write path asks again.
OFFERED = {
    "edit": "edit_artifact",
    "chat": "post_message",
    "answer": "answer_question",
    "approve": "answer_approval",
    "decide": "respond_to_proposal",
    "stop": "stop_run",
    "judge": "give_feedback",
}


@require_safe
@never_cache
@login_required(login_url="admin:login")
def choose_page(request: HttpRequest) -> HttpResponse:
    """The one workspace of this person, or their list of them."""
    principal = _principal(request)
    places = reachable(principal, after=None, limit=CHOICES) if principal else []
    if len(places) == 1:
        return HttpResponseRedirect(reverse("docplan:workspace", args=[places[0].id]))
    return render(request, "docplan/choose.html", {"places": places})


@require_safe
@never_cache
@login_required(login_url="admin:login")
@as_http()
def workspace_page(request: HttpRequest, workspace_id: str) -> HttpResponse:
    """Its documents and plans, its chats, and what waits for a person."""
    principal = _principal(request)
    if principal is None:
        return render(request, "docplan/choose.html", {"places": []}, status=403)
    workspace = open_for(principal, workspace_id)
    # Read first, so that whatever happens while the page loads is told once more.
    head = workspace.head_seq()
    info = describe(workspace)
    has_others = len(reachable(principal, after=None, limit=2)) > 1
    context = {
        "place": info,
        "has_others": has_others,
        "room": _room(request, workspace, head=head),
    }
    return render(request, "docplan/workspace.html", context)


def _principal(request: HttpRequest) -> Principal | None:
    try:
        return principal_of(request, authorization=None, user=request.user)
    except Unauthorized:
        return None


def _room(request: HttpRequest, workspace: Workspace, *, head: int) -> str:
    """What the page's script starts from, as JSON."""
    access = workspace.access
    # The desk's own address of a proposal, for those whom the admin lets in.
    desk = reverse("admin:artifactr_proposal_by_id", args=[workspace.id, "ID"])
    started: dict[str, Any] = {
        "workspace": workspace.id,
        "head": head,
        "actor": workspace.actor,
        "may": {name: access is None or access.allows(act) for name, act in OFFERED.items()},
        "api": reverse("artifacts_api:workspace", args=[workspace.id]),
        "desk": desk if getattr(request.user, "is_staff", False) else None,
    }
    return to_json(started, exclude_none=True).decode()
