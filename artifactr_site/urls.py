"""The site's routes: admin, REST under one versioned prefix, its schema, health."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from artifactr_site.health import healthz

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
