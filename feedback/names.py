"""The names that every client has, over HTTP and in process: each brings how it sends its calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from .bound import BoundArtifact
from .fluent import (
    Artifact,
    AsyncArtifact,
    Feedback,
    Ingested,
    Parameters,
    RecordFields,
    Records,
    Submitted,
)


class Names(ABC):
    """For callers that wait."""

    def artifact(self, name: str) -> Artifact:
        return Artifact(name, self._bind)

    @property
    def feedback(self) -> Feedback[Submitted]:
        return Feedback(self._submit)

    @property
    def records(self) -> Records[Ingested, list[Ingested]]:
        return Records(self._ingest_one, self._ingest)

    @abstractmethod
    def record(self, record_id: str) -> dict[str, Any]:
        """One record, as it is read."""

    @abstractmethod
    def _bind(self, name: str, parameters: Parameters, *, snapshot: bool) -> BoundArtifact: ...

    @abstractmethod
    def _submit(self, use_id: str, feedback: Mapping[str, Any]) -> Submitted: ...

    @abstractmethod
    def _ingest(self, given: Sequence[RecordFields]) -> list[Ingested]: ...

    def _ingest_one(self, record: RecordFields) -> Ingested:
        [taken] = self._ingest([record])
        return taken


class AsyncNames(ABC):
    """The same for coroutines."""

    def artifact(self, name: str) -> AsyncArtifact:
        return AsyncArtifact(name, self._bind)

    @property
    def feedback(self) -> Feedback[Awaitable[Submitted]]:
        return Feedback(self._submit)

    @property
    def records(self) -> Records[Awaitable[Ingested], Awaitable[list[Ingested]]]:
        return Records(self._ingest_one, self._ingest)

    @abstractmethod
    async def record(self, record_id: str) -> dict[str, Any]:
        """One record, as it is read."""

    @abstractmethod
    async def _bind(
        self, name: str, parameters: Parameters, *, snapshot: bool
    ) -> BoundArtifact: ...

    @abstractmethod
    async def _submit(self, use_id: str, feedback: Mapping[str, Any]) -> Submitted: ...

    @abstractmethod
    async def _ingest(self, given: Sequence[RecordFields]) -> list[Ingested]: ...

    async def _ingest_one(self, record: RecordFields) -> Ingested:
        [taken] = await self._ingest([record])
        return taken
