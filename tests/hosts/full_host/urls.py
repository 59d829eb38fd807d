"""The host mounts our routes where it likes."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("shared/v1/", include("artifacts.api.urls")),
    path("shared/v1/", include("threads.api.urls")),
    path("shared/v1/", include("learning.api.urls")),
]
