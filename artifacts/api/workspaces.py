"""The workspaces a caller can reach."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from ..surfaces.openapi import operation
from ..surfaces.pagination import PageQuery, page
from ..surfaces.reach import describe, reachable
from ..surfaces.rest import ApiView, WorkspaceView, query_of
from .schemas import WorkspaceInfo, WorkspacePage


class WorkspaceListView(ApiView):
    @operation("list_workspaces", query=PageQuery, ok={200: WorkspacePage})
    def get(self, request: Request) -> Response:
        """List the workspaces this credential reaches."""
        query = query_of(PageQuery, request)
        found = reachable(self.principal, after=query.after, limit=query.size + 1)
        return Response(page(request, found, size=query.size, cursor=lambda each: each.id))


class WorkspaceDetailView(WorkspaceView):
    @operation("get_workspace", ok={200: WorkspaceInfo})
    def get(self, request: Request, workspace_id: str) -> Response:
        """Read a workspace's name, the caller's role, and where its log stands."""
        return Response(describe(self.workspace).wire())
