"""The site's routes: admin, REST under one versioned prefix, its schema, health."""

from django.contrib import admin
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView


def healthz(request: HttpRequest) -> HttpResponse:
    """Ready when the database answers; anything else is the server's 500."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "api/v1/docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="docs.html"),
        name="docs",
    ),
    path("api/v1/", include("artifacts.api.urls")),
    path("api/v1/", include("threads.api.urls")),
    path("healthz", healthz),
]
