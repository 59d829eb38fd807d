"""Routes of the foundation's REST surface; a host mounts them under a prefix of its own."""

from django.urls import include, path

from . import artifacts, commands, feedback, log, proposals, workspaces

app_name = "artifacts_api"

workspace = [
    path("", workspaces.WorkspaceDetailView.as_view(), name="workspace"),
    path("commands/", commands.CommandsView.as_view(), name="commands"),
    path("commands/batch/", commands.BatchView.as_view(), name="batch"),
    path("artifacts/", artifacts.ArtifactListView.as_view(), name="artifacts"),
    path("artifacts/<str:artifact_id>/", artifacts.ArtifactView.as_view(), name="artifact"),
    path("artifacts/<str:artifact_id>/revert/", artifacts.RevertView.as_view(), name="revert"),
    path(
        "artifacts/<str:artifact_id>/revisions/",
        artifacts.RevisionListView.as_view(),
        name="revisions",
    ),
    path(
        "artifacts/<str:artifact_id>/revisions/<int:version>/",
        artifacts.RevisionView.as_view(),
        name="revision",
    ),
    path("change-sets/<str:change_set_id>/", artifacts.ChangeSetView.as_view(), name="change_set"),
    path("proposals/", proposals.ProposalListView.as_view(), name="proposals"),
    path("proposals/<str:proposal_id>/", proposals.ProposalView.as_view(), name="proposal"),
    path("proposals/<str:proposal_id>/respond/", proposals.RespondView.as_view(), name="respond"),
    path("groups/<str:group_id>/", proposals.GroupView.as_view(), name="group"),
    path("groups/<str:group_id>/resolve/", proposals.ResolveView.as_view(), name="resolve"),
    path("events/", log.EventListView.as_view(), name="events"),
    path("feedback/", feedback.FeedbackView.as_view(), name="feedback"),
]

urlpatterns = [
    path("workspaces/", workspaces.WorkspaceListView.as_view(), name="workspaces"),
    path("workspaces/<str:workspace_id>/", include(workspace)),
]
