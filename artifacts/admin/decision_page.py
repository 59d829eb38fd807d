"""The decision page as HTTP: GET shows, POST decides and leads back to the result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from artifacts import core
from artifacts.core.patches import summarize_patch
from artifacts.models import Event, Proposal
from artifacts.surfaces.admin_reach import reach_of
from artifacts.surfaces.event_lines import change_line, who
from artifacts.surfaces.live_pages import live_page
from artifacts.surfaces.object_pages import page_of
from artifacts.surfaces.review_sources import waiting_for

from .decision import Decision, Settled
from .displays import Display, change_display, is_markdown
from .forms import EditForm
from .glimpse import glimpse
from .preview import Step

TEMPLATE = "artifactr/decide.html"
# Versions between base and head that are told one by one.
MISSED = 20
DONE = {"accept": "Accepted", "reject": "Rejected"}


@dataclass(frozen=True, slots=True)
class Missed:
    """One version that was written after a proposal was made."""

    version: int
    by: str
    at: Any
    line: str


@dataclass(frozen=True, slots=True)
class Card:
    """One proposal on the page: its step, and all that is told around it."""

    step: Step
    row: Proposal
    line: str
    by: str
    display: Display
    links: dict[str, str | None]
    edit: EditForm | None = None
    missed: tuple[Missed, ...] = ()
    missed_count: int = 0
    missed_display: Display | None = None
    typed_display: Display | None = None
    edited_display: Display | None = None
    seen_name: str = "seen"
    decided_by: str = ""
    decided_seq: int | None = None


def decide_proposal(admin: Any, request: HttpRequest, row: Proposal) -> HttpResponse:
    """One proposal; one of a group is shown alone and decided with the others."""
    decision = Decision(reach_of(request).open(row.workspace.public_id), [row])
    return _decide(admin, request, decision, [row])


def decide_group(admin: Any, request: HttpRequest, row: Proposal) -> HttpResponse:
    """All proposals of this one's group."""
    if row.group_id is None:
        raise Http404
    workspace = reach_of(request).open(row.workspace.public_id)
    # One that holds a proposal this person may not see is not found.
    workspace.group(row.group_id)
    rows = list(
        admin.get_queryset(request)
        .filter(workspace=row.workspace_id, group_id=row.group_id)
        .order_by("pk")
    )
    return _decide(admin, request, Decision(workspace, rows, group_id=row.group_id), rows)


def whole_text(request: HttpRequest, row: Proposal, side: str) -> HttpResponse:
    """One side of a change, complete and as plain text."""
    decision = Decision(reach_of(request).open(row.workspace.public_id), [row])
    step = decision.steps[0]
    sides = {"before": step.before, "after": step.after}
    if sides.get(side) is None:
        raise Http404
    data: Any = sides[side]
    is_text = is_markdown(row.kind) and set(data) == {"text"}
    text = data["text"] if is_text else json.dumps(data, indent=2, ensure_ascii=False)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _decide(
    admin: Any, request: HttpRequest, decision: Decision, rows: Sequence[Proposal]
) -> HttpResponse:
    if request.method == "POST":
        done = decision.submit(request.POST)
        if done is not None:
            messages.success(request, _said(admin, request, rows, done))
            return HttpResponseRedirect(request.path)
        # Refused: what stood in the way is what the page must show now.
        seen = admin.get_queryset(request).filter(pk__in=[row.pk for row in rows])
        rows = list(seen.order_by("pk"))
        decision.look_again(rows)
    return admin.page(
        request,
        rows[0],
        TEMPLATE,
        title=_title(decision, rows),
        status=decision.status,
        decision=decision,
        cards=[_card(decision, step, row) for step, row in zip(decision.steps, rows, strict=True)],
        is_group=decision.group_id is not None,
        group_url=_group_url(rows[0]),
        has_buttons=_has_buttons(decision, rows[0]),
        command_id=core.new_id("cmd"),
        waiting=_waiting(admin, request, rows),
        live=_live(decision) if decision.is_open else None,
    )


def _live(decision: Decision) -> str:
    """What is on the screen, for a script that tells when it is no longer so."""
    return live_page(
        "decision",
        [(decision.workspace.id, decision.seen_seq)],
        proposals=[step.proposal.id for step in decision.steps],
        artifacts={step.proposal.change.artifact_id: step.head_version for step in decision.steps},
    )


def _has_buttons(decision: Decision, row: Proposal) -> bool:
    """Whether a decision can be sent from this page by this person; the write path asks again."""
    is_elsewhere = row.group_id is not None and decision.group_id is None
    may = decision.may_decide and not decision.preview.is_own
    return decision.is_open and may and not is_elsewhere


def _title(decision: Decision, rows: Sequence[Any]) -> str:
    names = [glimpse(row.data_start or row.change_start) or row.artifact_id for row in rows]
    if decision.group_id is None:
        return names[0]
    return f"Together: {', '.join(dict.fromkeys(names))}"


def _card(decision: Decision, step: Step, row: Proposal) -> Card:
    proposal = step.proposal
    edit = decision.edits.get(proposal.id)
    if edit is None and step in decision.editable:
        edit = decision.edit_form(step)
    place = decision.workspace.id
    has_artifact = bool(step.head_version or row.resolved_version)
    missed = _missed(decision, step)
    return Card(
        step=step,
        row=row,
        line=change_line(proposal.change),
        by=who(proposal.proposed_by),
        display=change_display(row.kind, step.before, step.after),
        links={
            # What is only proposed has no page yet.
            "artifact": page_of("artifact", place, row.artifact_id if has_artifact else None),
            "thread": page_of("thread", place, row.thread_id),
            "run": page_of("run", place, row.run_id),
        },
        edit=edit,
        seen_name=edit.add_prefix("seen") if edit else "",
        missed=missed,
        missed_count=max(step.head_version - proposal.base_version, 0),
        missed_display=_since_base(decision, step),
        typed_display=_typed(decision, step, edit),
        edited_display=change_display(row.kind, proposal.result, step.after)
        if step.is_edited
        else None,
        decided_by=who(core.actor_adapter.validate_json(row.resolved_by))
        if row.resolved_by
        else "",
        decided_seq=_decided_seq(row) if row.resolved_at else None,
    )


def _missed(decision: Decision, step: Step) -> tuple[Missed, ...]:
    if not step.is_stale:
        return ()
    first = max(step.proposal.base_version, step.head_version - MISSED)
    found = decision.workspace.revisions(
        step.proposal.change.artifact_id, after=first, limit=MISSED
    )
    return tuple(
        Missed(
            version=each.version,
            by=who(each.actor),
            at=each.at,
            line="archived" if each.archived else summarize_patch(each.patch) if each.patch else "",
        )
        for each in found
    )


def _since_base(decision: Decision, step: Step) -> Display | None:
    """What others made of the version the proposal was based on."""
    proposal = step.proposal
    if not step.is_stale or not proposal.base_version:
        return None
    workspace, id = decision.workspace, proposal.change.artifact_id
    base = workspace.revision(id, proposal.base_version)
    head = workspace.revision(id, step.head_version)
    return change_display(proposal.kind, base.data, head.data)


def _typed(decision: Decision, step: Step, edit: EditForm | None) -> Display | None:
    """What a refused edit would do to the result as it is now: it may undo what is new in it."""
    if decision.problem is None and not decision.has_looked:
        return None
    if edit is None or not edit.is_bound or not edit.is_readable:
        return None
    return change_display(step.proposal.kind, step.after, edit.edited)


def _decided_seq(row: Proposal) -> int | None:
    """Where the log says so."""
    found = Event.objects.filter(
        workspace=row.workspace_id,
        artifact_id=row.artifact_id,
        type="proposal_resolved",
        text__contains=f'"proposal_id":"{row.public_id}"',
    )
    return found.order_by("-seq").values_list("seq", flat=True).first()


def _group_url(row: Proposal) -> str | None:
    if row.group_id is None:
        return None
    return reverse("admin:artifactr_proposal_decide_group", args=[row.pk])


def _waiting(admin: Any, request: HttpRequest, rows: Sequence[Proposal]) -> dict[str, Any]:
    """How many others wait, and the next of them after these."""
    pending = admin.get_queryset(request).filter(status=Proposal.Status.PENDING)
    others = pending.exclude(pk__in=[row.pk for row in rows]).order_by("pk")
    following = others.filter(pk__gt=rows[0].pk).first() or others.first()
    return {
        "count": others.count(),
        "url": admin.url_of(following) if following is not None else None,
        "asked": len(waiting_for(request)) if following is None else 0,
        "queue_url": reverse("admin:artifactr_proposal_changelist"),
    }


def _said(admin: Any, request: HttpRequest, rows: Sequence[Proposal], done: Settled) -> Any:
    outcome = done.outcome
    text = DONE[outcome.decision] + (" with your edits" if done.decision == "edit" else "")
    if outcome.version is not None:
        text += f": {rows[0].artifact_id} is now at version {outcome.version}"
    following = _waiting(admin, request, rows)["url"]
    more = format_html(' · <a href="{}">next pending</a>', following) if following else ""
    return format_html("{} (seq {}){}", text, outcome.seq, more)
