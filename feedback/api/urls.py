"""Routes of uses; a host mounts them where it mounts those of the foundation and of learning."""

from django.urls import include, path

from . import uses

app_name = "feedback_api"

workspace = [
    path("catalog/artifacts/<str:name>/uses/", uses.BindView.as_view(), name="bind"),
    path("catalog/artifacts/<str:name>/render/", uses.RenderView.as_view(), name="render"),
    path("artifact-uses/", uses.UseListView.as_view(), name="uses"),
    path("artifact-uses/<str:use_id>/", uses.UseView.as_view(), name="use"),
    path(
        "artifact-uses/<str:use_id>/signals/", uses.UseSignalListView.as_view(), name="use_signals"
    ),
    path(
        "artifact-uses/<str:use_id>/feedback/", uses.UseFeedbackView.as_view(), name="use_feedback"
    ),
]

urlpatterns = [path("workspaces/<str:workspace_id>/", include(workspace))]
