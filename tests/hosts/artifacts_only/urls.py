"""REST and the review desk, nothing of the higher apps."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("artifacts.api.urls")),
]
