"""One hub for each event loop, so one for each process: followers, feeds, connections.

It has one poll for all followed workspaces, one channel of the layer for all their groups, and one
check of access for all connections, so that a connection that is idle costs nothing else. It comes
with its first connection and goes with the last.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from artifacts import conf
from artifacts.core.errors import Forbidden
from artifacts.models import Workspace as WorkspaceRow
from artifacts.pool import in_pool
from artifacts.telemetry import untraced
from artifacts.workspace import group_name, poll_seconds, reaches_others
from threads.services.live import RunKey, store
from threads.surfaces.admissions import Admission, Refused, asked_again
from threads.surfaces.events import LogEvent
from threads.surfaces.feeds import RunFeed
from threads.surfaces.follower import Follower

logger = logging.getLogger("artifactr.follow")

# Rows asked about in one statement.
AT_ONCE = 500
LAYER_SECONDS = 2.0
# Threads of the pool that commands, which may wait for a lock, leave to reads and stops.
KEPT_FREE = 2
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0


class Connection(Protocol):
    """A reader whose access is asked about again and again."""

    admission: Admission

    def keep(self, admission: Admission) -> None:
        """The admission holds; this is how it stands now."""
        ...

    def end(self, code: int) -> None:
        """The admission does not hold any more."""
        ...


class Hub:
    """See the module; everything in here runs on one loop."""

    def __init__(self) -> None:
        self._followers: dict[int, Follower] = {}
        self._starting: dict[int, asyncio.Task[None]] = {}
        self._feeds: dict[RunKey, RunFeed] = {}
        self._connections: dict[Connection, None] = {}
        self._owners: Counter[tuple[str, ...]] = Counter()
        self._tasks: list[asyncio.Task[None]] = []
        self._channel: str | None = None
        self.commands = asyncio.Semaphore(max(1, conf.settings().POOL_THREADS - KEPT_FREE))

    # Connections

    @asynccontextmanager
    async def connected(self, connection: Connection) -> AsyncIterator[None]:
        """Count a connection and watch over its access; one too many is `forbidden`."""
        owner = connection.admission.owner
        most = conf.settings().SOCKETS_PER_USER
        if self._owners[owner] >= most:
            raise Forbidden(f"more than {most} connections are open (SOCKETS_PER_USER)")
        self._owners[owner] += 1
        self._connections[connection] = None
        self._begin()
        try:
            yield
        finally:
            del self._connections[connection]
            self._owners[owner] -= 1
            if not self._owners[owner]:
                del self._owners[owner]
            await self._end_if_idle()

    async def _check_access(self) -> None:
        while True:
            await asyncio.sleep(conf.settings().ACCESS_CHECK_SECONDS)
            connections = list(self._connections)
            for start in range(0, len(connections), AT_ONCE):
                page = connections[start : start + AT_ONCE]
                found = await in_pool(asked_again, [each.admission for each in page])
                for connection, answer in zip(page, found, strict=True):
                    if isinstance(answer, Refused):
                        connection.end(answer.code)
                    else:
                        connection.keep(answer)

    # Followers

    @asynccontextmanager
    async def following(self, workspace_pk: int) -> AsyncIterator[Follower]:
        """The follower of a workspace, for as long as the block lasts."""
        follower = self._followers.get(workspace_pk)
        if follower is None:
            follower = Follower(workspace_pk, on_run_ended=self._run_ended)
            self._followers[workspace_pk] = follower
            with untraced():  # it is everybody's, whoever came first
                starting = asyncio.create_task(self._start(follower))
            self._starting[workspace_pk] = starting
        follower.users += 1
        try:
            await asyncio.shield(self._starting[workspace_pk])
            yield follower
        finally:
            follower.users -= 1
            if not follower.users:
                await self._stop(follower)

    async def _start(self, follower: Follower) -> None:
        await self._join(follower.pk)
        await follower.start()

    async def _stop(self, follower: Follower) -> None:
        del self._followers[follower.pk]
        starting = self._starting.pop(follower.pk)
        if not starting.done():
            starting.cancel()
        elif not starting.cancelled():
            starting.exception()  # whoever waited has had it
        follower.stop()
        if self._channel is not None:
            await self._in_time(
                get_channel_layer().group_discard(group_name(follower.pk), self._channel)
            )
        if follower.pk in self._followers:  # somebody came meanwhile, and must not have left
            await self._join(follower.pk)

    async def _poll(self) -> None:
        """The safety net under all pushes: one statement for all followed workspaces."""
        while True:
            await asyncio.sleep(poll_seconds())
            followed = list(self._followers)
            for start in range(0, len(followed), AT_ONCE):
                for pk, head in await in_pool(_heads, followed[start : start + AT_ONCE]):
                    if pk in self._followers:
                        self._followers[pk].note_head(head)

    # Live frames

    def feed(self, run: RunKey) -> RunFeed:
        """The feed of a run, begun when it is first watched."""
        feed = self._feeds.get(run)
        if feed is None:
            with untraced():
                feed = self._feeds[run] = RunFeed(run, on_end=self._feed_ended)
        return feed

    def _feed_ended(self, feed: RunFeed) -> None:
        if self._feeds.get(feed.run) is feed:
            del self._feeds[feed.run]

    def _run_ended(self, workspace_pk: int, run_id: str) -> None:
        feed = self._feeds.get(RunKey(workspace_pk, run_id))
        if feed is not None:
            feed.finish()

    # The channel layer

    async def _receive(self) -> None:
        """Take the pushes of other processes; a layer that is away is tried again and again."""
        layer, pause = get_channel_layer(), FIRST_PAUSE_SECONDS
        while True:
            try:
                if self._channel is None:
                    self._channel = await layer.new_channel()
                    await self._join_all()
                message = await layer.receive(self._channel)
            except Exception as error:
                logger.warning("the channel layer failed: %s", type(error).__name__)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
                continue
            pause = FIRST_PAUSE_SECONDS
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        follower = self._followers.get(message["workspace_pk"])
        if follower is not None:
            events = [LogEvent.from_message(members) for members in message["events"]]
            follower.push(events, message["last_seq"])

    async def _rejoin(self) -> None:
        """A layer that was restarted has forgotten who is in its groups."""
        while True:
            await asyncio.sleep(poll_seconds())
            await self._join_all()

    async def _join_all(self) -> None:
        for pk in list(self._followers):
            if not await self._join(pk):
                return

    async def _join(self, workspace_pk: int) -> bool:
        if self._channel is None:
            return False
        return await self._in_time(
            get_channel_layer().group_add(group_name(workspace_pk), self._channel)
        )

    async def _in_time(self, call: Coroutine[Any, Any, Any]) -> bool:
        """Whether the layer answered; nothing depends on it but speed."""
        try:
            async with asyncio.timeout(LAYER_SECONDS):
                await call
        except Exception as error:
            logger.warning("the channel layer failed: %s", type(error).__name__)
            return False
        return True

    # Its life

    def _begin(self) -> None:
        if self._tasks:
            return
        work = [self._check_access, self._poll]
        if reaches_others():
            work += [self._receive, self._rejoin]
        with untraced():
            self._tasks = [asyncio.create_task(_kept_up(each)) for each in work]

    async def _end_if_idle(self) -> None:
        if self._connections:
            return
        tasks, self._tasks, self._channel = self._tasks, [], None
        for task in tasks:
            task.cancel()
        for feed in list(self._feeds.values()):
            feed.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        await store().aclose()


async def _kept_up(work: Any) -> None:
    """Go on after a failure: a database that is away for a moment comes back."""
    while True:
        try:
            await work()
        except Exception:
            logger.warning("%s failed and goes on", work.__name__, exc_info=True)


def _heads(workspace_pks: list[int]) -> list[tuple[int, int]]:
    rows = WorkspaceRow.objects.filter(pk__in=workspace_pks)
    return list(rows.values_list("pk", "head_seq"))


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]
