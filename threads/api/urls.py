"""Routes of threads and runs; the site mounts them under the prefix of `artifacts.api`."""

from django.urls import include, path

from threads.api import runs, stream, threads

app_name = "threads_api"

workspace = [
    path("threads/", threads.ThreadListView.as_view(), name="threads"),
    path("threads/<str:thread_id>/", threads.ThreadView.as_view(), name="thread"),
    path("threads/<str:thread_id>/messages/", threads.MessageListView.as_view(), name="messages"),
    path("threads/<str:thread_id>/focus/", threads.FocusView.as_view(), name="focus"),
    path("threads/<str:thread_id>/mode/", threads.ModeView.as_view(), name="mode"),
    path("runs/", runs.RunListView.as_view(), name="runs"),
    path("runs/<str:run_id>/", runs.RunView.as_view(), name="run"),
    path("runs/<str:run_id>/answers/", runs.AnswerView.as_view(), name="answers"),
    path("runs/<str:run_id>/stop/", runs.StopView.as_view(), name="stop"),
    path("events/stream", stream.event_stream, name="event_stream"),
]

urlpatterns = [path("workspaces/<str:workspace_id>/", include(workspace))]
