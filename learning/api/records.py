"""Records: taking them in, reading, listing and searching them."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from artifacts.surfaces.openapi import operation
from artifacts.surfaces.pagination import page
from artifacts.surfaces.rest import WorkspaceView, body_of, query_of, read_in
from learning.api import schemas
from learning.selectors.records import RecordInfo
from learning.services import records
from learning.services.records import as_request_schema


class RecordListView(WorkspaceView):
    @operation("list_records", query=schemas.RecordListQuery, ok={200: schemas.RecordPage})
    def get(self, request: Request, workspace_id: str) -> Response:
        """List records; `where` and `sort` go by the declared fields of one collection."""
        with as_request_schema():
            query = query_of(schemas.RecordListQuery, request)
            size = query.size
        found = records.records(self.workspace, query.asked, after=query.after, limit=size + 1)
        return Response(page(request, found, size=size, cursor=lambda each: each.id))

    @operation(
        "ingest_records",
        body=schemas.IngestBody,
        ok={200: schemas.IngestAnswer, 201: schemas.IngestAnswer},
    )
    def post(self, request: Request, workspace_id: str) -> Response:
        """Keep records, all or none; 200 where all were kept before under their dedupe keys."""
        body_of(request)
        with as_request_schema():
            batch = read_in(schemas.IngestBody, request)
        taken = records.ingest(self.workspace, batch.records)
        is_new = any(not each.duplicate for each in taken)
        answer = schemas.IngestAnswer(results=tuple(taken))
        return Response(answer.wire(), status=201 if is_new else 200)


class RecordView(WorkspaceView):
    @operation("get_record", ok={200: RecordInfo})
    def get(self, request: Request, workspace_id: str, record_id: str) -> Response:
        """Read a record."""
        return Response(records.record(self.workspace, record_id).wire())


class RecordSearchView(WorkspaceView):
    @operation("search_records", query=schemas.SearchQuery, ok={200: schemas.SearchAnswer})
    def get(self, request: Request, workspace_id: str) -> Response:
        """Search the texts of events and of values in force: every word must be there."""
        with as_request_schema():
            query = query_of(schemas.SearchQuery, request)
            size = query.size
        found = records.search(self.workspace, query.q, query.asked, limit=size)
        return Response(schemas.SearchAnswer(results=tuple(found)).wire())
