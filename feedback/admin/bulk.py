"""Evidence made of many signals at once: asked on one page, answered signal by signal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from pydantic import ValidationError

from artifacts.core.artifact import validation_failed
from artifacts.core.errors import ArtifactrError
from artifacts.surfaces.admin_reach import Reach, reach_of
from artifacts.surfaces.object_pages import WorkspaceAdmin, page_of
from feedback.services.routing import route_signal
from learning.core.definitions import Collection
from learning.models import ActiveDefinition, LearningSignal
from learning.selectors.catalog import parse

from .forms import BulkRouteForm

TEMPLATE = "artifactr_feedback/route_many.html"
COLLECTIONS = 50
# Each is a transaction of its own, and somebody waits for all of them.
MOST = 100


@dataclass(frozen=True, slots=True)
class Routed:
    """What became of one signal: its evidence, or why there is none."""

    signal_id: str
    url: str | None
    what: str
    workspace: str
    evidence_id: str | None = None
    evidence_url: str | None = None
    is_repeated: bool = False
    problem: str = ""


def route_many(
    admin: WorkspaceAdmin, request: HttpRequest, selected: QuerySet[Any]
) -> HttpResponse:
    """The page that asks which evidence these signals are; sent back, the page that tells of each.

    One that fails keeps no other from being evidence; sent again, what is evidence stays it.
    """
    rows = list(selected.select_related("workspace__tenant").order_by("pk")[: MOST + 1])
    collections = evidence_collections({row.workspace_id for row in rows})
    form = BulkRouteForm(
        request.POST if "apply" in request.POST else None,
        collections=collections,
        initial={"content": "{}"},
    )
    is_sent = len(rows) <= MOST and form.is_bound and form.is_valid()
    done = [_routed(reach_of(request), row, form) for row in rows] if is_sent else []
    is_refused = len(rows) > MOST or (form.is_bound and not is_sent)
    return admin.page(
        request,
        None,
        TEMPLATE,
        status=422 if is_refused else 200,
        title="Route into evidence",
        form=form,
        rows=rows[:MOST],
        most=MOST,
        is_too_many=len(rows) > MOST,
        checkbox=ACTION_CHECKBOX_NAME,
        is_done=is_sent,
        failed=[each for each in done if each.problem],
        written=[each for each in done if not each.problem],
    )


def _routed(reach: Reach, row: Any, form: BulkRouteForm) -> Routed:
    place = row.workspace.public_id
    about = {
        "signal_id": row.public_id,
        "url": page_of("signal", place, row.public_id),
        "what": kind_in_words(row),
        "workspace": row.workspace.name,
    }
    try:
        routed = route_signal(reach.open(place), row.public_id, form.route_of(row.type or ""))
    except ArtifactrError as refused:
        return Routed(**about, problem=refused.message)
    except ValidationError as error:
        return Routed(**about, problem=validation_failed(error).message)
    except Http404:  # the membership ended while the others were written
        return Routed(**about, problem="this workspace is not yours any more")
    return Routed(
        **about,
        evidence_id=routed.record_id,
        evidence_url=page_of("record", place, routed.record_id),
        is_repeated=routed.duplicate,
    )


def kind_in_words(signal: Any) -> str:
    return (signal.type or "").replace("_", " ")


def evidence_collections(workspace_pks: Iterable[int]) -> Mapping[str, Collection]:
    """Collections of events in force in any of these workspaces, but that of signals itself."""
    rows = ActiveDefinition.objects.filter(workspace__in=list(workspace_pks), type="collection")
    found: dict[str, Collection] = {}
    for name, body in rows.order_by("name", "pk").values_list("name", "definition__body"):
        collection = parse("collection", body)
        assert isinstance(collection, Collection)
        if collection.mode == "event" and name != LearningSignal.COLLECTION:
            found.setdefault(name, collection)
        if len(found) == COLLECTIONS:
            break
    return found
