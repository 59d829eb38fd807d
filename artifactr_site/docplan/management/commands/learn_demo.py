"""`manage.py learn_demo`: how a use, feedback on it and evidence go together, told in tables."""

from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand, CommandError, call_command

from artifactr_site.docplan.learning_story import LearningStory, NotAsTold, Table
from artifacts.core import ArtifactrError


class Command(BaseCommand):
    help = "Walk through the learning half: bind a prompt, judge it, make evidence of that."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        try:
            for table in LearningStory().tell():
                self._print(table)
        except NotAsTold as error:
            raise CommandError(f"not as told: {error}") from error
        except ArtifactrError as refused:
            raise CommandError(f"refused: {refused.message}") from refused

    def _print(self, table: Table) -> None:
        rows = [table.header, *table.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
        self.stdout.write(f"\n{table.title}")
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            self.stdout.write(f"  {'  '.join(cells).rstrip()}")
        self.stdout.flush()
