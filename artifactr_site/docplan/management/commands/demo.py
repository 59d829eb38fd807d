"""`manage.py demo`: serve the demo; with `--once`, tell its story in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command

from artifactr_site.docplan import seed, serving
from artifactr_site.docplan.story import NotAsTold, Story
from artifacts import conf, executor

OFFLINE = "An offline scripted model answers; set ARTIFACTR_MODEL to a model's name for a real one."


class Command(BaseCommand):
    help = "Serve the demo on SQLite in one process, or tell its story once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="the port to serve on")
        parser.add_argument(
            "--once", action="store_true", help="tell the story, print the log and exit"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["once"]:
            self._tell()
        else:
            self._serve(options["port"])

    def _serve(self, port: int) -> None:
        model = conf.settings().MODEL
        self._say(f"The model {model} answers." if model else OFFLINE)
        serving.check_port(port)
        call_command("migrate", verbosity=0)
        login = seed.seed()
        site = f"http://{serving.HOST}:{port}"
        self._say(f"Work with the agent: {site}/  (sign in as {login.username})")
        self._say(f"Review proposals: {site}/admin/")
        self._say(_password_line(login))
        self._say(f"REST: {site}/api/v1/docs/  (workspace {seed.WORKSPACE_ID})")
        self._say("Ctrl-C stops.")
        with _all_in_this_process(model=model):
            serving.serve(port)
        self._say("Stopped.")

    def _tell(self) -> None:
        self._say("An offline scripted model answers.")
        call_command("migrate", verbosity=0)
        with _all_in_this_process(model=None):
            story = Story()
            try:
                story.tell()
            except NotAsTold as error:
                raise CommandError(f"not as told: {error}") from error
            finally:
                self._print_table(list(story.table()))

    def _print_table(self, rows: list[tuple[str, str, str, str]]) -> None:
        rows = [("seq", "actor", "event", "summary"), *rows]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            self._say("  ".join([*cells, row[3]]))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _password_line(login: seed.Login) -> str:
    if login.password is None:
        return f"The password was changed; set one with: manage.py changepassword {login.username}"
    return f"Password: {login.password}  (kept in {seed.password_file()})"


@contextmanager
def _all_in_this_process(*, model: str | None) -> Iterator[None]:
    """Whatever the environment names, tasks run on threads of this process."""
    before = settings.ARTIFACTR
    settings.ARTIFACTR = {**before, "MODEL": model, "EXECUTOR": "threads"}
    try:
        yield
    finally:
        executor.stop()
        settings.ARTIFACTR = before
