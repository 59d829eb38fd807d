"""`manage.py verify_log [WORKSPACE …]`: is every log whole, and is what is stored what it says?"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from artifacts.core import NotFound, SystemActor
from artifacts.models import Workspace
from artifacts.workspace import open_workspace


class Command(BaseCommand):
    help = (
        "Check numbers, digests, chain, triggers, that stored state equals the replayed log, and "
        "what installed apps keep beside it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "workspace", nargs="*", help="Ids of workspaces; every workspace when left out."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ids = options["workspace"] or Workspace.objects.order_by("pk").values_list(
            "public_id", flat=True
        )
        wrong = [id for id in ids if not self._is_whole(id)]
        if wrong:
            raise CommandError(f"{len(wrong)} of {len(ids)} logs are not as they were written")

    def _is_whole(self, workspace_id: str) -> bool:
        try:
            workspace = open_workspace(workspace_id, actor=SystemActor(name="verify_log"))
        except NotFound as unknown:
            self.stderr.write(f"{workspace_id}: {unknown.message}")
            return False
        problems = workspace.verify()
        for problem in problems:
            self.stderr.write(f"{workspace_id}: {problem}")
        if not problems:
            self.stdout.write(f"{workspace_id}: {workspace.head_seq()} events, as written")
        return not problems
