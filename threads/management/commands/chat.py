"""Talk to a thread from a terminal: `manage.py chat wsp_… --user ana`.

With `--once TEXT` it says one thing, waits until the agent is done, and prints the reply alone; its
exit code tells how it went: 0 a reply, 1 none, 3 the agent asks something, 4 it took too long.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from artifacts import conf, core, executor
from artifacts.core.errors import ArtifactrError
from artifacts.models import Membership
from artifacts.pool import in_pool
from artifacts.surfaces.authentication import open_for, principal_for_user
from artifacts.workspace import Workspace
from threads import selectors
from threads.management.chat.conversation import Conversation
from threads.management.chat.screen import Screen, plain
from threads.management.chat.session import Lines, Prompt, Session
from threads.models import Thread

NO_REPLY, ASKS, TOO_LONG = 1, 3, 4
GRACE_SECONDS = 60
CANCEL_SECONDS = 1.0
NAMED = 10


class Command(BaseCommand):
    help = "Talk to a thread's agent: text as it comes, proposals, questions, approvals."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", help="public id of the workspace")
        parser.add_argument("--thread", help="public id of the thread; else the newest")
        parser.add_argument("--user", help="name of the person who talks")
        parser.add_argument("--once", metavar="TEXT", help="say this, print the reply, and exit")
        parser.add_argument(
            "--timeout", type=float, help="seconds that --once waits; else as long as a turn may be"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # The agent's library greets whoever runs it first; this is a conversation.
        os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
        workspace = _opened(options["workspace"], options["user"])
        try:
            thread_id = _thread(workspace, options["thread"])
            if options["once"] is None:
                asyncio.run(self._talk(workspace, thread_id))
            else:
                asyncio.run(self._once(workspace, thread_id, options["once"], options["timeout"]))
        except ArtifactrError as refusal:
            raise CommandError(refusal.message) from None
        except KeyboardInterrupt:
            self.stderr.write("Left.")
        finally:
            # Where this process runs the turns, one that goes on is handed over.
            if conf.settings().EXECUTOR == "threads":
                executor.stop()

    async def _talk(self, workspace: Workspace, thread_id: str) -> None:
        is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        screen = (
            Screen(_to_terminal, colours=True, width=_width) if is_terminal else Screen(self._told)
        )
        conversation = Conversation(workspace, thread_id, screen)
        head = await conversation.open()
        title = (await in_pool(selectors.thread, workspace, thread_id)).title
        screen.line(f"{title} ({thread_id}) as {core.display_name(workspace.actor)}", "name")
        await conversation.show_past(head)
        if is_terminal:
            screen.line("/help tells what else may be typed.", "quiet")
        following = asyncio.create_task(conversation.follow(head))
        session = asyncio.create_task(
            Session(conversation, Prompt() if is_terminal else Lines()).run()
        )
        await _first_of(session, following)

    async def _once(
        self, workspace: Workspace, thread_id: str, text: str, seconds: float | None
    ) -> None:
        conversation = Conversation(workspace, thread_id, Screen(self._said_aside))
        head = await conversation.open()
        await conversation.say(text)
        following = asyncio.create_task(conversation.follow(head))
        resting = asyncio.create_task(conversation.until(lambda: conversation.is_at_rest))
        seconds = seconds or conf.settings().TURN_SECONDS + GRACE_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await _first_of(resting, following)
        except TimeoutError:
            message = f"the agent was not done within {seconds:g} seconds"
            raise CommandError(message, returncode=TOO_LONG) from None
        if conversation.waiting:
            raise CommandError("the agent asks something first", returncode=ASKS)
        for reply in conversation.replies:
            self.stdout.write(plain(reply))
        ended = conversation.ended
        if ended is None or ended.status != "completed":
            why = "" if ended is None else f": {ended.error or ended.reason or ended.status}"
            raise CommandError(f"the agent did not answer{why}", returncode=NO_REPLY)

    def _told(self, text: str) -> None:
        self.stdout.write(text, ending="")
        self.stdout.flush()

    def _said_aside(self, text: str) -> None:
        self.stderr.write(text, lambda unstyled: unstyled, ending="")


def _to_terminal(text: str) -> None:
    # Asked for each time: a prompt puts another stream in its place while it is shown.
    sys.stdout.write(text)
    sys.stdout.flush()


def _width() -> int:
    return shutil.get_terminal_size().columns


def _opened(workspace_id: str, name: str | None) -> Workspace:
    users = get_user_model()
    try:
        if name is None:
            user = _only_member(workspace_id)
        else:
            user = users._default_manager.get_by_natural_key(name)
        return open_for(principal_for_user(user), workspace_id)
    except users.DoesNotExist:
        raise CommandError(f"there is no user {name!r}") from None
    except core.NotFound:
        raise CommandError("this person reaches no workspace of that id") from None


def _only_member(workspace_id: str) -> Any:
    found = Membership.objects.filter(workspace__public_id=workspace_id).select_related("user")
    members = [each.user for each in found[: NAMED + 1]]
    if not members:
        raise CommandError("there is no workspace of that id, or it has no members")
    if len(members) > 1:
        names = ", ".join(each.get_username() for each in members[:NAMED])
        raise CommandError(f"say who talks with --user, such as: {names}")
    return members[0]


def _thread(workspace: Workspace, thread_id: str | None) -> str:
    """The thread that was named, the newest, or a new one where there is none."""
    if thread_id is not None:
        return selectors.thread(workspace, thread_id).id
    seen = Thread.objects.filter(workspace_id=workspace.pk).exclude(
        public_id__in=workspace.hidden.threads
    )
    newest = seen.order_by("-pk").values_list("public_id", flat=True).first()
    if newest is not None:
        return newest
    created = core.CreateThread(title="Chat")
    workspace.commit(created)
    return created.thread_id


async def _first_of(wanted: asyncio.Task[None], other: asyncio.Task[None]) -> None:
    """Wait for `wanted`; should `other` fail first, its error is this one's."""
    try:
        await asyncio.wait({wanted, other}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        tasks = [wanted, other]
        for task in tasks:
            # A read may lose its cancellation to what comes at the same moment.
            while not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=CANCEL_SECONDS)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()):
            raise error
