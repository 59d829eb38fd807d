"""Print a workspace's log, then what comes: `manage.py follow wsp_… --after 120`."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connections

from ...core.actors import SystemActor
from ...core.errors import NotFound, Unavailable
from ...surfaces.event_lines import event_line, who
from ...workspace import Workspace, open_workspace

POLL_SECONDS = 0.5
AGAIN_SECONDS = 1.0


class Command(BaseCommand):
    """Reads only; ends with Ctrl-C."""

    help = "Print the log of a workspace, one line per event, and go on with what comes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", help="public id of the workspace")
        parser.add_argument("--after", type=int, default=0, help="begin after this seq")

    def handle(self, *args: Any, **options: Any) -> None:
        after = max(0, options["after"])
        try:
            workspace = open_workspace(options["workspace"], actor=SystemActor(name="follow"))
        except NotFound as error:
            raise CommandError(error.message) from None
        try:
            while True:
                after = self._follow(workspace, after)
                time.sleep(AGAIN_SECONDS)
                connections.close_all()
        except (KeyboardInterrupt, BrokenPipeError):
            return

    def _follow(self, workspace: Workspace, after: int) -> int:
        """Print until the database is away; the last seq that was printed."""
        try:
            for envelope in workspace.follow(after, poll_seconds=POLL_SECONDS):
                line = f"{envelope.seq} {who(envelope.actor)} {envelope.event.type}"
                self.stdout.write(f"{line}: {event_line(envelope.event)}")
                self.stdout.flush()
                after = envelope.seq
        except (Error, Unavailable) as error:
            self.stderr.write(f"the database is away ({type(error).__name__}); trying again")
        return after
