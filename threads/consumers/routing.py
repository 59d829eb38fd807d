"""Where the socket is: a site mounts `websocket_application` for the `websocket` protocol."""

from __future__ import annotations

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path

from threads.consumers.pacing import paced
from threads.consumers.stream import stream

urlpatterns = [
    path("ws/v1/workspaces/<str:workspace_id>/stream", stream)  # type: ignore[arg-type]
]
websocket_application = paced(AuthMiddlewareStack(URLRouter(urlpatterns)))
