"""Proposals and groups of them. Deciding is sugar over the commands."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from ..core.commands import ProposeChange, ResolveGroup, RespondToProposal
from ..core.outcomes import Proposed, Resolved
from ..core.state import Group
from ..surfaces.openapi import IDEMPOTENCY_KEY, operation
from ..surfaces.pagination import page
from ..surfaces.rest import WorkspaceView, query_of, read_in, said
from . import schemas


class ProposalListView(WorkspaceView):
    @operation("list_proposals", query=schemas.ProposalQuery, ok={200: schemas.ProposalPage})
    def get(self, request: Request, workspace_id: str) -> Response:
        """List proposals."""
        query = query_of(schemas.ProposalQuery, request)
        found = self.workspace.proposals(query.status, after=query.after, limit=query.size + 1)
        shown = [schemas.ProposalInfo.of(each) for each in found]
        return Response(page(request, shown, size=query.size, cursor=lambda each: each.id))

    @operation(
        "propose_change",
        body=schemas.ProposeChangeBody,
        ok={201: Proposed},
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, workspace_id: str) -> Response:
        """Suggest a change for somebody else's decision."""
        return said(self.commit(read_in(ProposeChange, request)), proposed=201)


class ProposalView(WorkspaceView):
    @operation("get_proposal", ok={200: schemas.ProposalInfo})
    def get(self, request: Request, workspace_id: str, proposal_id: str) -> Response:
        """Read a proposal."""
        return Response(schemas.ProposalInfo.of(self.workspace.proposal(proposal_id)).wire())


class RespondView(WorkspaceView):
    @operation(
        "respond_to_proposal",
        body=schemas.RespondToProposalBody,
        ok={200: Resolved},
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, workspace_id: str, proposal_id: str) -> Response:
        """Accept a proposal, with changes if given, or reject it."""
        command = read_in(RespondToProposal, request, proposal_id=proposal_id)
        return said(self.commit(command))


class GroupView(WorkspaceView):
    @operation("get_group", ok={200: Group})
    def get(self, request: Request, workspace_id: str, group_id: str) -> Response:
        """Read a group of proposals."""
        return Response(self.workspace.group(group_id).wire())


class ResolveView(WorkspaceView):
    @operation(
        "resolve_group",
        body=schemas.ResolveGroupBody,
        ok={200: Resolved},
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, workspace_id: str, group_id: str) -> Response:
        """Decide all proposals of a group at once."""
        return said(self.commit(read_in(ResolveGroup, request, group_id=group_id)))
