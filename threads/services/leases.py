"""A claim that is held while work goes on: renewed from a thread of its own, released at the end.

The holder's fence goes with every write, so one whose claim lapsed writes nothing more.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import Error, close_old_connections, connections

from artifacts import conf, telemetry
from artifacts.core import ArtifactrError, new_id
from artifacts.workspace import Fence, Workspace

log = logging.getLogger(__name__)


class Claim:
    """A lease in this process's hands."""

    def __init__(self, workspace: Workspace, fence: Fence, ttl_seconds: int) -> None:
        self.workspace, self.fence = workspace, fence
        self._ttl_seconds = ttl_seconds
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._on_lost: Callable[[], object] = lambda: None
        self._renewer = threading.Thread(target=self._renew, name=f"renew {fence.key}", daemon=True)

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    def when_lost(self, call: Callable[[], object]) -> None:
        """Call this once should the claim lapse; at once if it already has."""
        self._on_lost = call
        if self.is_lost:
            call()

    def start(self) -> None:
        self._renewer.start()

    def end(self) -> None:
        """Stop renewing, then let the next one in."""
        self._ended.set()
        self._renewer.join()
        if not self.is_lost:
            self.workspace.release_lease(self.fence)

    def _renew(self) -> None:
        try:
            while not self._ended.wait(self._ttl_seconds / 3):
                if not self._renewed():
                    self._lost.set()
                    self._on_lost()
                    return
        finally:
            connections.close_all()

    def _renewed(self) -> bool:
        """False once the claim is another's. A database that is away decides nothing: the fence
        of the next write will."""
        close_old_connections()
        try:
            with telemetry.untraced():
                return self.workspace.renew_lease(self.fence, self._ttl_seconds)
        except (ArtifactrError, Error):
            log.warning("could not renew the claim on %s", self.fence.key, exc_info=True)
            return True


@contextmanager
def held(workspace: Workspace, key: str) -> Iterator[Claim | None]:
    """Hold a claim inside the block; None where somebody else holds it."""
    ttl_seconds = conf.settings().LEASE_TTL_SECONDS
    fence = workspace.acquire_lease(key, _holder(), ttl_seconds)
    if fence is None:
        yield None
        return
    claim = Claim(workspace, fence, ttl_seconds)
    claim.start()
    try:
        yield claim
    finally:
        claim.end()


def _holder() -> str:
    """Names the holder for people; what fences writes is the token."""
    return f"{socket.gethostname()}:{os.getpid()}:{new_id('hld')}"
