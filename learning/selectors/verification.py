"""Are a workspace's records what they were when they were written? For `verify_log`.

Checks numbers, digests, the record of every version of a maintained value, what is in force, links,
what search finds, and the hashes of definitions. Each problem is one line; nothing is mended.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F, Q
from pydantic_core import from_json, to_json

from artifacts.core.ids import address_id
from artifacts.models import Proposal, Revision
from learning import models
from learning.core.canonical import sha256_of
from learning.core.records import (
    MAINTAINED_VALUE,
    content_of,
    digest_of,
    searched_text,
    text_of,
)

PAGE = 1_000
# Of rows that may hold a whole value each.
HEAVY_PAGE = 100


def problems_of(workspace_pk: int) -> Iterator[str]:
    """Every problem of one workspace's records and catalog."""
    records = _Records(workspace_pk)
    yield from records.problems()
    yield from records.in_force()
    yield from _unrecorded(workspace_pk)
    yield from _links(workspace_pk)
    yield from _promises(workspace_pk)
    yield from _definitions(workspace_pk)


class _Records:
    """Reads records from the first, and remembers the newest at each address."""

    def __init__(self, workspace_pk: int) -> None:
        self.workspace_pk = workspace_pk
        self.seq = 0
        self.newest: dict[str, models.Record] = {}

    def problems(self) -> Iterator[str]:
        rows = models.Record.objects.filter(workspace_id=self.workspace_pk).order_by("seq")
        rows = rows.select_related("revision__artifact", "searched", "current")
        for row in rows.iterator(HEAVY_PAGE):
            if row.seq != self.seq + 1:
                yield f"record {self.seq + 1} is missing: the next one is {row.seq}"
            self.seq = row.seq
            for problem in _of_record(row):
                yield f"record {row.public_id}: {problem}"
            if row.key is not None:
                self.newest[address_id(row.collection, row.entity, row.key)] = _light(row)
        heads = models.RecordHead.objects.filter(workspace_id=self.workspace_pk)
        head = heads.values_list("seq", flat=True).first() or 0
        if head != self.seq:
            yield f"the head of the records is {head}, the last record is {self.seq}"

    def in_force(self) -> Iterator[str]:
        """Whether the newest at each address is in force, unless it archives."""
        expected = {id: row for id, row in self.newest.items() if not _archives(row)}
        rows = models.CurrentRecord.objects.filter(workspace_id=self.workspace_pk)
        for current in rows.iterator(PAGE):
            newest = expected.pop(current.address_id, None)
            if newest is None:
                yield f"value {current.address_id}: nothing is in force there"
            elif (current.record_id, current.collection, current.entity) != (
                newest.pk, newest.collection, newest.entity,
            ):  # fmt: skip
                yield f"value {current.address_id}: another record is in force than the newest"
        yield from (f"value {id}: its newest record is not in force" for id in expected)


def _light(row: models.Record) -> models.Record:
    """Without what it says: the newest of every address stay in memory."""
    row.text = row.content = ""
    if row.revision is not None:
        row.revision.data, row.revision.patch = "", None
    return row


def _archives(row: models.Record) -> bool:
    return row.revision is not None and row.revision.archived


def _of_record(row: models.Record) -> Iterator[str]:
    if row.revision is not None:
        yield from _beside(row, row.revision)
    if not row.salt or (row.revision is not None and not row.revision.salt):
        yield from _of_erased(row)
        return
    try:
        said = _said(row)
    except ValueError:
        yield "it cannot be read"
        return
    if said is None:
        return
    text, content = said
    if bytes(row.digest) != digest_of(bytes(row.salt), text, content):
        yield "what it says is not what was written"
    is_searched = row.key is None or hasattr(row, "current")
    searched = row.searched.text if hasattr(row, "searched") else ""
    if searched != (searched_text(text) if is_searched else ""):
        yield "search finds it by another text"


def _of_erased(row: models.Record) -> Iterator[str]:
    if not row.salt and (row.text or row.content not in ("", "{}")):
        yield "it has lost its salt and still says something"
    if hasattr(row, "searched"):
        yield "it was erased and search still finds it"


def _said(row: models.Record) -> tuple[str, str] | None:
    """Text and content. The words of a host's own kind change with its code, so those values are
    vouched for by the digests of their revisions alone."""
    revision = row.revision
    if revision is None:
        return row.text, row.content
    if revision.kind != MAINTAINED_VALUE:
        return None
    data = from_json(revision.data)
    content = to_json(content_of(revision.kind, data)).decode()
    return text_of(revision.kind, data), content


def _beside(row: models.Record, revision: Revision) -> Iterator[str]:
    """Whether it stands where its revision stands, and leaves the text to it."""
    artifact = revision.artifact
    if row.text or row.content not in ("", "{}"):
        yield "it says something beside its revision"
    if artifact.workspace_id != row.workspace_id:
        yield "its revision is of another workspace"
    if (row.collection, row.entity, row.key, row.type, row.artifact_id, row.actor, row.at) != (
        artifact.collection, artifact.entity, artifact.key, artifact.type, artifact.public_id,
        revision.actor, revision.at,
    ):  # fmt: skip
        yield "it is not where and when its revision was written"


def _unrecorded(workspace_pk: int) -> Iterator[str]:
    """Versions of maintained values that no record stands for. Those from before the first record
    were written before this app was there."""
    first = models.Record.objects.filter(workspace_id=workspace_pk).order_by("seq").first()
    if first is None:
        return
    rows = Revision.objects.filter(
        artifact__workspace_id=workspace_pk,
        artifact__collection__isnull=False,
        record__isnull=True,
    )
    if first.seq == 1:
        rows = rows.filter(at__gte=first.at)
    for id, version in rows.order_by("pk").values_list("artifact__public_id", "version"):
        yield f"revision {id}@{version}: it has no record"


def _links(workspace_pk: int) -> Iterator[str]:
    rows = models.RecordLink.objects.filter(record__workspace_id=workspace_pk).order_by(
        "record_id", "position"
    )
    last, place = "", 0
    for id, seq, position, source_seq, *places in rows.values_list(
        "record__public_id", "record__seq", "position", "source__seq",
        "source__workspace_id", "revision__artifact__workspace_id",
    ).iterator(PAGE):  # fmt: skip
        last, place = id, place + 1 if id == last else 0
        if position != place:
            yield f"record {id}: its source {place} is missing"
            place = position
        if workspace_pk not in places:
            yield f"record {id}: it is derived from another workspace's"
        elif (source_seq or 0) >= seq:
            yield f"record {id}: it is derived from what came after it"


def _promises(workspace_pk: int) -> Iterator[str]:
    """Dedupe keys and citations that stand for what is not there."""
    records = models.Record.objects.filter(workspace_id=workspace_pk).values("public_id")
    proposals = Proposal.objects.filter(workspace_id=workspace_pk).values("public_id")
    keys = models.DedupeKey.objects.filter(workspace_id=workspace_pk)
    lost = Q(record_id__isnull=False) & ~Q(record_id__in=records)
    lost |= Q(proposal_id__isnull=False) & ~Q(proposal_id__in=proposals)
    for id in keys.filter(lost).order_by("pk").values_list("pk", flat=True):
        yield f"dedupe key {id}: what came of it is missing"
    cited = models.ProposalSource.objects.filter(workspace_id=workspace_pk)
    lone = cited.exclude(proposal_id__in=proposals).values_list("proposal_id", flat=True)
    for proposal_id in sorted(set(lone)):
        yield f"proposal {proposal_id}: it cites and is missing"


def _definitions(workspace_pk: int) -> Iterator[str]:
    rows = models.Definition.objects.filter(workspace_id=workspace_pk).order_by("pk")
    for row in rows.iterator(HEAVY_PAGE):
        if row.sha256 != sha256_of(row.body):
            yield f"definition {row}: it is not what was applied"
    active = models.ActiveDefinition.objects.filter(workspace_id=workspace_pk)
    strange = active.select_related("definition").exclude(
        type=F("definition__type"), name=F("definition__name"),
        definition__workspace_id=workspace_pk,
    )  # fmt: skip
    for each in strange.order_by("pk"):
        yield f"definition {each.type} {each.name}: another one is in force under its name"
