"""Routes of catalog and records; a host mounts them where it mounts those of the foundation."""

from django.urls import include, path

from . import catalog, records

app_name = "learning_api"

workspace = [
    path("catalog/", catalog.CatalogView.as_view(), name="catalog"),
    path("catalog/<str:section>/<str:name>/", catalog.DefinitionView.as_view(), name="definition"),
    path(
        "catalog/<str:section>/<str:name>/versions/<int:version>/",
        catalog.DefinitionVersionView.as_view(),
        name="definition_version",
    ),
    path("records/", records.RecordListView.as_view(), name="records"),
    path("records/search/", records.RecordSearchView.as_view(), name="record_search"),
    path("records/<str:record_id>/", records.RecordView.as_view(), name="record"),
]

urlpatterns = [path("workspaces/<str:workspace_id>/", include(workspace))]
