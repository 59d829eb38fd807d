"""Artifacts, their revisions and change sets. Writes are sugar over the commands."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from ..core.commands import (
    ArchiveArtifact,
    CreateArtifact,
    EditArtifact,
    PutArtifact,
    RevertArtifact,
)
from ..core.errors import VersionConflict
from ..selectors import ChangeSetInfo, StoredRevision
from ..surfaces.openapi import ETAG, IDEMPOTENCY_KEY, IF_MATCH, operation
from ..surfaces.pagination import page
from ..surfaces.problems import StaleIfMatch
from ..surfaces.rest import WorkspaceView, base_version, query_of, read_in, said
from . import schemas


class ArtifactListView(WorkspaceView):
    @operation("list_artifacts", query=schemas.ArtifactQuery, ok={200: schemas.ArtifactPage})
    def get(self, request: Request, workspace_id: str) -> Response:
        """List artifacts at their current versions."""
        query = query_of(schemas.ArtifactQuery, request)
        found = self.workspace.artifacts(
            query.kind, archived=query.archived, after=query.after, limit=query.size + 1
        )
        return Response(page(request, found, size=query.size, cursor=lambda each: each.id))

    @operation(
        "create_artifact",
        body=schemas.CreateArtifactBody,
        ok={201: schemas.Changed, 202: schemas.Changed},
        parameters=(IDEMPOTENCY_KEY, ETAG),
    )
    def post(self, request: Request, workspace_id: str) -> Response:
        """Create an artifact."""
        return said(self.commit(read_in(CreateArtifact, request)), status=201)


class ArtifactView(WorkspaceView):
    @operation("get_artifact", ok={200: schemas.ArtifactInfo}, parameters=(ETAG,))
    def get(self, request: Request, workspace_id: str, artifact_id: str) -> Response:
        """Read an artifact; the ETag is its version."""
        found = self.workspace.artifact(artifact_id)
        return Response(found.wire(), headers={"ETag": f'"{found.version}"'})

    @operation(
        "edit_artifact",
        body=schemas.EditArtifactBody,
        ok={200: schemas.Changed, 202: schemas.Changed},
        parameters=(IF_MATCH, IDEMPOTENCY_KEY, ETAG),
        errors=(412, 428),
    )
    def patch(self, request: Request, workspace_id: str, artifact_id: str) -> Response:
        """Change an artifact by a patch on the version in `If-Match`."""
        based_on = base_version(request)
        command = read_in(EditArtifact, request, artifact_id=artifact_id, base_version=based_on)
        return self._said_or_stale(command)

    @operation(
        "put_artifact",
        body=schemas.PutArtifactBody,
        ok={200: schemas.Changed, 202: schemas.Changed},
        parameters=(IDEMPOTENCY_KEY, ETAG),
    )
    def put(self, request: Request, workspace_id: str, artifact_id: str) -> Response:
        """Write the whole value, on the version in the body; 0 says that there is none yet."""
        return said(self.commit(read_in(PutArtifact, request, artifact_id=artifact_id)))

    @operation(
        "archive_artifact",
        ok={200: schemas.Changed, 202: schemas.Changed},
        parameters=(IF_MATCH, IDEMPOTENCY_KEY, ETAG),
        errors=(409, 412, 428),
    )
    def delete(self, request: Request, workspace_id: str, artifact_id: str) -> Response:
        """Archive an artifact; its history stays."""
        based_on = base_version(request)
        return self._said_or_stale(ArchiveArtifact(artifact_id=artifact_id, base_version=based_on))

    def _said_or_stale(self, command: EditArtifact | ArchiveArtifact) -> Response:
        try:
            return said(self.commit(command))
        except VersionConflict as conflict:
            raise StaleIfMatch(conflict) from None


class RevertView(WorkspaceView):
    @operation(
        "revert_artifact",
        body=schemas.RevertArtifactBody,
        ok={200: schemas.Changed, 202: schemas.Changed},
        parameters=(IDEMPOTENCY_KEY, ETAG),
    )
    def post(self, request: Request, workspace_id: str, artifact_id: str) -> Response:
        """Write an older version's data as a new version."""
        return said(self.commit(read_in(RevertArtifact, request, artifact_id=artifact_id)))


class RevisionListView(WorkspaceView):
    @operation("list_revisions", query=schemas.RevisionQuery, ok={200: schemas.RevisionPage})
    def get(self, request: Request, workspace_id: str, artifact_id: str) -> Response:
        """List an artifact's revisions."""
        query = query_of(schemas.RevisionQuery, request)
        found = self.workspace.revisions(artifact_id, after=query.after, limit=query.size + 1)
        return Response(page(request, found, size=query.size, cursor=lambda each: each.version))


class RevisionView(WorkspaceView):
    @operation("get_revision", ok={200: StoredRevision})
    def get(self, request: Request, workspace_id: str, artifact_id: str, version: int) -> Response:
        """Read one version of an artifact."""
        return Response(self.workspace.revision(artifact_id, version).wire())


class ChangeSetView(WorkspaceView):
    @operation("get_change_set", ok={200: ChangeSetInfo})
    def get(self, request: Request, workspace_id: str, change_set_id: str) -> Response:
        """Read what one commit wrote together."""
        return Response(self.workspace.change_set(change_set_id).wire())
