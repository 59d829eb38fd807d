"""Dedupe keys: the same key with the same payload is the first record again, else a conflict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from artifacts.extensions import Statement, Transaction
from learning.core.errors import DedupeConflict
from learning.core.records import RecordInput
from learning.models import DedupeKey

from .questions import Questions
from .rows import Rows, among, inserting, parts

KNOWN = """
    SELECT d.key, d.payload_sha256, d.record_id, d.proposal_id, r.id, r.seq, length(r.salt)
    FROM artifactr_learning_dedupekey d
    LEFT JOIN artifactr_learning_record r
        ON r.workspace_id = d.workspace_id AND r.public_id = d.record_id
    WHERE d.workspace_id = %s AND d.key IN """
COLUMNS = ("workspace_id", "key", "payload_sha256", "record_id", "proposal_id")


@dataclass(slots=True)
class Taken:
    """What became of one record; a keyed one that an agent sent is a proposal."""

    record_id: str | None = None
    pk: int | None = None
    seq: int | None = None
    proposal_id: str | None = None
    duplicate: bool = False
    erased: bool = False


class Dedupe:
    """The keys of one batch, those of a namespace of their own. The workspace is locked."""

    def __init__(self, tx: Transaction, records: Sequence[RecordInput], namespace: str) -> None:
        self.tx, self.records, self.namespace = tx, records, namespace
        self.taken = [Taken() for _ in records]
        self._repeats: list[tuple[int, int]] = []
        self._known: dict[str, tuple[Any, ...]] = {}

    def ask(self, questions: Questions) -> None:
        """Ask which of the keys are known."""
        keys = {self._key(each) for each in self.records if each.dedupe_key is not None}
        for part in parts(sorted(keys)):
            questions.ask((KNOWN + among(part), (self.tx.workspace_pk, *part)), self._know)

    def fresh(self) -> list[int]:
        """The places of the records that are to be taken; the others are settled."""
        known = self._known
        first: dict[str, int] = {}
        fresh: list[int] = []
        for index, record in enumerate(self.records):
            if record.dedupe_key is None:
                fresh.append(index)
                continue
            key = self._key(record)
            if key in known:
                self._settle(index, known[key])
            elif key in first:
                self._check_same(index, self.records[first[key]].payload_sha256)
                self._repeats.append((index, first[key]))
            else:
                first[key] = index
                fresh.append(index)
        return fresh

    def remembering(self, indexes: Sequence[int]) -> list[Statement]:
        """Tell repeats within the batch what was taken; the statements that keep the keys."""
        named = [index for index in indexes if self.records[index].dedupe_key is not None]
        rows = [
            (
                self.tx.workspace_pk, self._key(self.records[index]),
                self.records[index].payload_sha256, self.taken[index].record_id,
                self.taken[index].proposal_id,
            )
            for index in named
        ]  # fmt: skip
        for index, first in self._repeats:
            self.taken[index] = replace(self.taken[first], duplicate=True)
        return inserting(DedupeKey, COLUMNS, rows)

    def _know(self, rows: Rows) -> None:
        self._known.update({key: tuple(rest) for key, *rest in rows})

    def _settle(self, index: int, known: tuple[Any, ...]) -> None:
        payload_sha256, record_id, proposal_id, pk, seq, salt_bytes = known
        self._check_same(index, payload_sha256)
        # A record that was erased has lost its salt.
        is_erased = salt_bytes == 0
        self.taken[index] = Taken(record_id, pk, seq, proposal_id, True, is_erased)

    def _check_same(self, index: int, payload_sha256: str) -> None:
        record = self.records[index]
        if record.payload_sha256 != payload_sha256:
            conflict = DedupeConflict(dedupe_key=record.dedupe_key or "")
            conflict.index = index
            raise conflict

    def _key(self, record: RecordInput) -> str:
        return f"{self.namespace}:{record.dedupe_key}"
