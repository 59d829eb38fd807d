"""The site's routes, and a producer of live frames inside the server, as an agent would be one."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from artifacts.core import SystemActor
from artifacts.core.protocol import Live
from artifacts.workspace import open_workspace
from threads.services import live

_runs: dict[str, live.RunLive] = {}


@csrf_exempt
def produce(request: HttpRequest, workspace_id: str, run_id: str) -> HttpResponse:
    """Send the events of the body as live frames of the run; with `?close`, end them."""
    if run_id not in _runs:
        workspace = open_workspace(workspace_id, actor=SystemActor(name="producer"))
        _runs[run_id] = live.open_run(workspace, run_id)
    for event in json.loads(request.body or b"[]"):
        _runs[run_id].send(Live.model_validate({"run_id": run_id, "event": event}).event)
    if "close" in request.GET:
        _runs.pop(run_id).close()
    return HttpResponse(status=204)


urlpatterns = [
    path("produce/<str:workspace_id>/<str:run_id>", produce),
    path("", include("artifactr_site.urls")),
]
