"""The catalog: what is declared, each version of it, and applying a package."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from artifacts.core.errors import NotFound
from artifacts.surfaces.openapi import operation
from artifacts.surfaces.pagination import page
from artifacts.surfaces.rest import WorkspaceView, body_of, query_of, read_in
from learning.api import schemas
from learning.core.definitions import PLURALS
from learning.selectors import catalog as selectors
from learning.selectors.catalog import DefinitionInfo
from learning.services import catalog
from learning.services.catalog import Applied
from learning.services.records import as_request_schema


class CatalogView(WorkspaceView):
    @operation("list_definitions", query=schemas.DefinitionQuery, ok={200: schemas.DefinitionPage})
    def get(self, request: Request, workspace_id: str) -> Response:
        """List definitions, every version of them."""
        query = query_of(schemas.DefinitionQuery, request)
        found = selectors.definitions(
            self.workspace,
            type_name=query.type,
            name=query.name,
            active=query.active,
            after=query.after,
            limit=query.size + 1,
        )
        return Response(page(request, found, size=query.size, cursor=lambda each: each.id))

    @operation("apply_catalog", body=schemas.CatalogBundle, ok={200: Applied})
    def post(self, request: Request, workspace_id: str) -> Response:
        """Apply a package: all of it, or nothing and every problem."""
        body_of(request)
        with as_request_schema():
            bundle = read_in(schemas.CatalogBundle, request)
        return Response(
            catalog.apply_catalog(self.workspace, bundle.files, check=bundle.check).wire()
        )


class DefinitionView(WorkspaceView):
    @operation("get_definition", ok={200: DefinitionInfo})
    def get(self, request: Request, workspace_id: str, section: str, name: str) -> Response:
        """Read the version in force of a definition."""
        return Response(selectors.definition(self.workspace, _type(section), name).wire())


class DefinitionVersionView(WorkspaceView):
    @operation("get_definition_version", ok={200: DefinitionInfo})
    def get(
        self, request: Request, workspace_id: str, section: str, name: str, version: int
    ) -> Response:
        """Read one version of a definition, in force or not."""
        found = selectors.definition(self.workspace, _type(section), name, version)
        return Response(found.wire())


def _type(section: str) -> str:
    if section not in PLURALS:
        raise NotFound("section", section)
    return PLURALS[section]
