"""The rows of the foundation. Import models from here; modules inside import downwards only:
`log` and `artifacts` know `tenancy`, nothing else knows a sibling.

Rows are written by `artifacts.store` alone, except tenancy rows, which are administration.
"""

from .artifacts import Artifact, ChangeSet, Proposal, ProposalGroup, Revision
from .erasure import ErasureGuard
from .log import CommandReceipt, Cursor, Event, Lease
from .tenancy import ID_LENGTH, ApiKey, Membership, Role, Tenant, Workspace

__all__ = [
    "ID_LENGTH",
    "ApiKey",
    "Artifact",
    "ChangeSet",
    "CommandReceipt",
    "Cursor",
    "ErasureGuard",
    "Event",
    "Lease",
    "Membership",
    "Proposal",
    "ProposalGroup",
    "Revision",
    "Role",
    "Tenant",
    "Workspace",
]
