"""The two clients: one that waits and one for coroutines, over the same calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from feedback.bound import BoundArtifact
from feedback.fluent import (
    Ingested,
    Parameters,
    RecordFields,
    Submitted,
)
from feedback.names import AsyncNames, Names

from . import calls
from .calls import Call
from .sending import RETRIES, TIMEOUT_SECONDS, Destination, Retries, httpx, read

T = TypeVar("T")


class Client(Names):
    """One workspace over HTTP. `base_url` is where the site's REST surface stands.

    `http` is a client of the caller's, for its proxies and certificates; it stays open.
    """

    def __init__(
        self,
        base_url: str,
        *,
        workspace: str,
        key: str,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        http: httpx.Client | None = None,
    ) -> None:
        self._to = Destination(base_url, workspace, key)
        self._timeout, self._retries = timeout, retries
        self._http, self._is_own = http or httpx.Client(), http is None

    def record(self, record_id: str) -> dict[str, Any]:
        """One record, as it is read."""
        return self._send(calls.record(record_id))

    def close(self) -> None:
        if self._is_own:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _bind(self, name: str, parameters: Parameters, *, snapshot: bool) -> BoundArtifact:
        return self._send(calls.bind(name, parameters, snapshot=snapshot))

    def _submit(self, use_id: str, feedback: Mapping[str, Any]) -> Submitted:
        return self._send(calls.submit(use_id, feedback))

    def _ingest(self, given: Sequence[RecordFields]) -> list[Ingested]:
        return self._send(calls.ingest(given))

    def _send(self, call: Call[T]) -> T:
        retries = Retries(call, self._retries)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.send(self._to.request(call, self._timeout))
            except httpx.TransportError as error:
                outcome = error
            pause = retries.pause_after(outcome)
            if pause is None:
                return read(call, outcome)
            time.sleep(pause)


class AsyncClient(AsyncNames):
    """The same for coroutines."""

    def __init__(
        self,
        base_url: str,
        *,
        workspace: str,
        key: str,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._to = Destination(base_url, workspace, key)
        self._timeout, self._retries = timeout, retries
        self._http, self._is_own = http or httpx.AsyncClient(), http is None

    async def record(self, record_id: str) -> dict[str, Any]:
        """One record, as it is read."""
        return await self._send(calls.record(record_id))

    async def aclose(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _bind(self, name: str, parameters: Parameters, *, snapshot: bool) -> BoundArtifact:
        return await self._send(calls.bind(name, parameters, snapshot=snapshot))

    async def _submit(self, use_id: str, feedback: Mapping[str, Any]) -> Submitted:
        return await self._send(calls.submit(use_id, feedback))

    async def _ingest(self, given: Sequence[RecordFields]) -> list[Ingested]:
        return await self._send(calls.ingest(given))

    async def _send(self, call: Call[T]) -> T:
        retries = Retries(call, self._retries)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._http.send(self._to.request(call, self._timeout))
            except httpx.TransportError as error:
                outcome = error
            pause = retries.pause_after(outcome)
            if pause is None:
                return read(call, outcome)
            await asyncio.sleep(pause)
