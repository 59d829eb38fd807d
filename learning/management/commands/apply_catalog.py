"""Apply a package of definitions to a workspace, from a folder or from an installed app."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from artifacts.core import SystemActor
from artifacts.core.errors import ArtifactrError
from artifacts.workspace import open_workspace
from learning.catalog.files import Files, installed_packages
from learning.core.errors import CatalogInvalid
from learning.services import catalog


class Command(BaseCommand):
    """Every problem is a line of its own, `file:line: reason [rule]`; then nothing is applied."""

    help = "Apply a learning catalog to a workspace; --check only says what it would do."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", nargs="?", help="folder with a package.yaml")
        parser.add_argument("--package", help="a package that an installed app ships")
        parser.add_argument("--list", action="store_true", help="show the packages that apps ship")
        parser.add_argument("--workspace", help="public id of the workspace")
        parser.add_argument("--check", action="store_true", help="check, and change nothing")

    def handle(self, **options: Any) -> None:
        if options["list"]:
            for name, folder in sorted(installed_packages().items()):
                self.stdout.write(f"{name}\t{folder}")
            return
        if not options["workspace"]:
            raise CommandError("name a workspace: --workspace ID")
        try:
            files = self._files(options["folder"], options["package"])
            workspace = open_workspace(options["workspace"], actor=SystemActor())
            applied = catalog.apply_catalog(workspace, files, check=options["check"])
        except CatalogInvalid as invalid:
            for problem in invalid.problems:
                self.stderr.write(problem.line_text)
            raise CommandError(f"{len(invalid.problems)} problem(s); nothing was applied") from None
        except ArtifactrError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{applied.package} {applied.package_hash}")
        for what in ("created", "activated", "retired", "unchanged"):
            for name in getattr(applied, what):
                self.stdout.write(f"  {what:<9} {name}")
        if options["check"]:
            self.stdout.write("checked; nothing was changed")

    def _files(self, folder: str | None, package: str | None) -> Files:
        if (folder is None) == (package is None):
            raise CommandError("name either a folder or --package NAME")
        if package is not None:
            return catalog.files_of_package(package)
        path = Path(folder or "")
        if not path.is_dir():
            raise CommandError(f"{folder} is no folder")
        return catalog.files_of(path)
