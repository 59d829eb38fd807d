"""Routes of the demo's pages; the site mounts them at its root."""

from django.urls import path

from . import views

app_name = "docplan"

urlpatterns = [
    path("", views.choose_page, name="choose"),
    path("w/<str:workspace_id>/", views.workspace_page, name="workspace"),
]
