"""Records for whoever needs them: taking them in, reading, listing and searching them.

[taken] = ingest(workspace, [RecordInput(collection="outcomes", entity="agent:ada", …)])
record(workspace, taken.record_id).text
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from artifacts import conf
from artifacts.core.artifact import validation_failed
from artifacts.core.errors import ValidationFailed
from artifacts.core.json_input import check_json
from artifacts.core.limits import Limits
from artifacts.core.values import Id, Value
from artifacts.core.visibility import NOTHING_HIDDEN, Hidden
from artifacts.workspace import Workspace, WriteTransaction
from learning.core.errors import RequestSchema
from learning.core.records import RecordInput
from learning.selectors.records import RecordInfo, RecordQuery, find_record, list_records
from learning.selectors.search import search_records
from learning.store.dedupe import Taken
from learning.store.ingest import Beside, Checked, Terms, take_in

# The dedupe keys of records, apart from those that other features keep.
NAMESPACE = "record"

RecordLike = RecordInput | Mapping[str, Any]


class Ingested(Value):
    """What became of one record. `duplicate`: its dedupe key was used before, for the same."""

    record_id: Id | None = None
    proposal_id: Id | None = None
    duplicate: bool = False
    erased: bool | None = None


def ingest(workspace: Workspace, records: Sequence[RecordLike]) -> list[Ingested]:
    """Keep records, all or none. Those of keyed collections are put at their addresses."""
    workspace.require("ingest")
    checked = checked_records(records)
    with workspace.transaction() as tx:
        taken = take_in(tx, checked, Terms(NAMESPACE, workspace.hidden))
    return [_told(each) for each in taken]


def ingest_in(
    tx: WriteTransaction,
    records: Sequence[RecordLike],
    *,
    namespace: str,
    hidden: Hidden = NOTHING_HIDDEN,
    as_records: bool = False,
    beside: Beside | None = None,
) -> list[Taken]:
    """The same inside a transaction of the caller, who has asked whether it may.

    With `as_records` a keyed one is kept as it is, without an artifact; the newest is current.
    `beside` reads and writes rows of the caller's own in the same round trips.
    """
    terms = Terms(namespace, hidden, as_records)
    return take_in(tx, checked_records(records), terms, beside)


def record(workspace: Workspace, record_id: str) -> RecordInfo:
    """One record, or `not_found`."""
    workspace.require("read_records", record_id)
    return find_record(workspace.pk, record_id, workspace.hidden)


def records(
    workspace: Workspace,
    query: RecordQuery | None = None,
    *,
    after: str | None = None,
    limit: int = 100,
) -> list[RecordInfo]:
    """A page of records after the one with the id `after`."""
    workspace.require("read_records")
    with as_request_schema():
        return list_records(
            workspace.pk, query or RecordQuery(), workspace.hidden, after=after, limit=limit
        )


def search(
    workspace: Workspace, text: str, query: RecordQuery | None = None, *, limit: int = 20
) -> list[RecordInfo]:
    """The records whose texts hold every word of `text`, the best first."""
    workspace.require("read_records")
    with as_request_schema():
        return search_records(
            workspace.pk, text, query or RecordQuery(), workspace.hidden, limit=limit
        )


def checked_records(records: Sequence[RecordLike]) -> list[Checked]:
    """Records in their form and within the limits, or `request_schema`."""
    limits = conf.limits()
    with as_request_schema():
        if not 1 <= len(records) <= limits.ingest_records:
            raise ValidationFailed.at(
                ["records"], f"between 1 and {limits.ingest_records} (ingest_records)", "too_long"
            )
    checked: list[Checked] = []
    for index, each in enumerate(records):
        try:
            checked.append(_checked(each, limits))
        except ValidationFailed as failed:
            raise RequestSchema.of(failed, "records", index) from failed
    return checked


@contextmanager
def as_request_schema(*prefix: str | int) -> Iterator[None]:
    """What is wrong with the form of a request, under the code of this half's clients."""
    try:
        yield
    except RequestSchema:
        raise
    except ValidationFailed as failed:
        raise RequestSchema.of(failed, *prefix) from failed


def _checked(given: RecordLike, limits: Limits) -> Checked:
    try:
        record = given if isinstance(given, RecordInput) else RecordInput.model_validate(given)
    except ValidationError as error:
        raise validation_failed(error) from None
    if len(record.text) * 4 > limits.record_text_bytes:
        size = len(record.text.encode())
        _check_most("text", size, limits.record_text_bytes, "bytes of UTF-8 (record_text_bytes)")
    cited = record.derived_from
    _check_most("derived_from", len(cited), limits.record_sources, "sources (record_sources)")
    if len(set(cited)) < len(cited):
        raise ValidationFailed.at(["derived_from"], "names a source twice")
    key = record.dedupe_key or ""
    _check_most("dedupe_key", len(key), limits.dedupe_key_chars, "characters (dedupe_key_chars)")
    return Checked(record, check_json(record.content, limits=limits, field="content").decode())


def _check_most(member: str, count: int, most: int, what: str) -> None:
    if count > most:
        raise ValidationFailed.at([member], f"at most {most} {what}", "too_long")


def _told(taken: Taken) -> Ingested:
    return Ingested(
        record_id=taken.record_id,
        proposal_id=taken.proposal_id,
        duplicate=taken.duplicate,
        erased=taken.erased or None,
    )
