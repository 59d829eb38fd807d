"""The routes: the demo, the admin, REST under one versioned prefix, its schema, health."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from artifactr_site.health import healthz

admin.site.site_header = admin.site.site_title = "artifactr"
admin.site.index_title = "Review desk"

urlpatterns = [
    path("", include("artifactr_site.docplan.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "api/v1/docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="docs.html"),
        name="docs",
    ),
    path("api/v1/", include("artifacts.api.urls")),
    path("api/v1/", include("threads.api.urls")),
    path("api/v1/", include("learning.api.urls")),
    path("api/v1/", include("feedback.api.urls")),
    path("healthz", healthz),
]
