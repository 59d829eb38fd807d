"""How the store's own families are found: one statement each, always after the lock.

A loaded row's key and guard are remembered, so that the save can say what it expects to replace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_core import from_json

from ..core.actors import actor_adapter
from ..core.patches import patch_adapter
from ..core.state import Group, Needs, Revision, Stored, revision_key
from ..extensions import OneStatement, Statement, Transaction
from ..rows import PROPOSAL_COLUMNS, as_address, as_proposal
from .database import Database

ABSENT: Mapping[str, Any] = {"messages": False, "open_proposals": 0}

ARTIFACTS = """
    SELECT a.id, a.public_id, a.kind, a.version, a.archived, a.updated_by, a.collection, a.entity,
        a.key, a.type, r.data
    FROM artifactr_artifact a
    JOIN artifactr_revision r ON r.artifact_id = a.id AND r.version = a.version
    WHERE a.workspace_id = %s AND a.public_id {any}"""
REVISIONS = """
    SELECT r.version, r.kind, r.data, r.patch, r.actor, r.proposal_id, r.archived, r.edited,
        r.trace_id
    FROM artifactr_revision r JOIN artifactr_artifact a ON a.id = r.artifact_id
    WHERE a.workspace_id = %s AND a.public_id = %s AND r.version {any}"""
PROPOSALS = (
    f"SELECT id, {', '.join(PROPOSAL_COLUMNS)} FROM artifactr_proposal "
    "WHERE workspace_id = %s AND public_id {any}"
)
GROUPS = """
    SELECT g.id, g.public_id, g.status, g.proposed_by, p.public_id
    FROM artifactr_proposalgroup g
    LEFT JOIN artifactr_proposal p ON p.workspace_id = g.workspace_id AND p.group_id = g.public_id
    WHERE g.workspace_id = %s AND g.public_id {any} ORDER BY p.id"""
# A run's proposals are all its agent's own, so both counts walk one proposer's open ones.
OPEN_PROPOSALS = """
    SELECT count(*), %s FROM artifactr_proposal
    WHERE workspace_id = %s AND proposer_key = %s AND status = 'pending'"""
OPEN_IN_RUN = OPEN_PROPOSALS + " AND run_id = %s"


@dataclass(slots=True)
class Seen:
    """The keys of rows that were loaded or written in this transaction, by public id."""

    artifacts: dict[str, tuple[int, int]] = field(default_factory=dict)  # key, version
    proposals: dict[str, int] = field(default_factory=dict)
    groups: dict[str, tuple[int, str]] = field(default_factory=dict)  # key, status


Rows = list[tuple[Any, ...]]
Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One statement, and what its rows say about the ids that were asked for."""

    family: str
    ids: Iterable[str]
    statement: Statement
    parse: Callable[[Rows, Seen], Found]

    def found(self, rows: Rows, seen: Seen) -> Found:
        absent = ABSENT.get(self.family)
        return dict.fromkeys(self.ids, absent) | self.parse(rows, seen)


def queries(db: Database, workspace_pk: int, needs: Needs, proposer: str) -> list[Query]:
    """What to ask for the store's own families."""
    made: list[Query] = []
    simple: Sequence[tuple[str, str, Callable[[Rows, Seen], Found]]] = (
        ("artifacts", ARTIFACTS, _artifacts),
        ("proposals", PROPOSALS, _proposals),
        ("groups", GROUPS, _groups),
    )
    for family, sql, parse in simple:
        if ids := getattr(needs, family):
            params = (workspace_pk, db.array(sorted(ids)))
            made.append(Query(family, ids, (db.spelled(sql), params), parse))
    if needs.revisions:
        made += _revision_queries(db, workspace_pk, needs.revisions)
    made += [_count_query(workspace_pk, key, proposer) for key in needs.open_proposals]
    return made


def of_family(name: str, ids: frozenset[str], load: OneStatement, tx: Transaction) -> Query:
    """What to ask for a family that another app keeps."""
    return Query(name, ids, load.asking(tx, ids), lambda rows, seen: dict(load.found(rows)))


def _revision_queries(db: Database, workspace_pk: int, keys: frozenset[str]) -> list[Query]:
    versions: dict[str, list[int]] = {}
    for key in keys:
        artifact_id, _, version = key.rpartition("@")
        versions.setdefault(artifact_id, []).append(int(version))
    sql = db.spelled(REVISIONS)
    return [
        Query(
            "revisions",
            [revision_key(artifact_id, each) for each in wanted],
            (sql, (workspace_pk, artifact_id, db.array(sorted(wanted)))),
            lambda rows, seen, id=artifact_id: _revisions(id, rows),  # type: ignore[misc]
        )
        for artifact_id, wanted in versions.items()
    ]


def _count_query(workspace_pk: int, key: str, proposer: str) -> Query:
    kind, _, name = key.partition(":")
    if kind == "run":
        statement: Statement = (OPEN_IN_RUN, (key, workspace_pk, proposer, name))
    else:
        statement = (OPEN_PROPOSALS, (key, workspace_pk, name))
    return Query("open_proposals", [key], statement, lambda rows, seen: {rows[0][1]: rows[0][0]})


def _artifacts(rows: Rows, seen: Seen) -> Found:
    found: Found = {}
    for pk, id, kind, version, archived, updated_by, *address, data in rows:
        seen.artifacts[id] = (pk, version)
        found[id] = Stored.model_construct(
            id=id,
            kind=kind,
            version=version,
            data=from_json(data),
            updated_by=actor_adapter.validate_json(updated_by),
            archived=bool(archived),
            address=as_address(address),
        )
    return found


def _revisions(artifact_id: str, rows: Rows) -> Found:
    found: Found = {}
    for version, kind, data, patch, actor, proposal_id, archived, edited, trace_id in rows:
        found[revision_key(artifact_id, version)] = Revision.model_construct(
            artifact_id=artifact_id,
            version=version,
            kind=kind,
            data=from_json(data),
            patch=None if patch is None else patch_adapter.validate_json(patch),
            actor=actor_adapter.validate_json(actor),
            proposal_id=proposal_id,
            archived=bool(archived),
            edited=bool(edited),
            trace_id=trace_id,
        )
    return found


def _proposals(rows: Rows, seen: Seen) -> Found:
    found: Found = {}
    for row in rows:
        seen.proposals[row[1]] = row[0]
        found[row[1]] = as_proposal(row[1:])
    return found


def _groups(rows: Rows, seen: Seen) -> Found:
    members: dict[str, list[str]] = {}
    heads: dict[str, tuple[str, str]] = {}
    for pk, id, status, proposed_by, proposal_id in rows:
        seen.groups[id] = (pk, status)
        heads[id] = (status, proposed_by)
        members.setdefault(id, []).extend([proposal_id] if proposal_id else [])
    return {
        id: Group.model_construct(
            id=id,
            proposed_by=actor_adapter.validate_json(proposed_by),
            proposal_ids=tuple(members[id]),
            status=cast(Any, status),
        )
        for id, (status, proposed_by) in heads.items()
    }
