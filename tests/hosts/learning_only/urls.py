"""REST of the foundation and of the learning half, and the desk."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("artifacts.api.urls")),
    path("api/", include("learning.api.urls")),
]
