"""The files of a catalog: from a folder, from a request, or out of an installed app.

An app ships packages as `learning_catalog/<name>/`, each with its `package.yaml` and the folders
`collections`, `artifacts`, `views`, `derivations`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from django.apps import apps

from artifacts.core.limits import Limits
from learning.core.definitions import SECTIONS
from learning.core.errors import CatalogInvalid
from learning.core.problems import Problem

PACKAGE_FILE = "package.yaml"
FOLDER = "learning_catalog"
PLACE = re.compile(
    rf"package\.ya?ml|({'|'.join(SECTIONS)})/[A-Za-z0-9][A-Za-z0-9_.-]{{0,99}}\.ya?ml"
)
NAME_CHARS = 200

Files = Mapping[str, str]


def read_folder(folder: Path, *, limits: Limits) -> Files:
    """The YAML files of a folder, by their paths in it; other files are no part of a catalog."""
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".yaml", ".yml") or not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        if path.stat().st_size > limits.catalog_file_bytes:
            raise CatalogInvalid([_too_large(name, limits)])
        try:
            files[name] = path.read_bytes().decode()
        except UnicodeDecodeError:
            raise CatalogInvalid([_problem(name, "yaml", "is not valid UTF-8")]) from None
        if len(files) > limits.catalog_files:
            break  # `check_files` says so
    return files


def check_files(files: Files, *, limits: Limits) -> list[Problem]:
    """What is wrong before any file is read."""
    if len(files) > limits.catalog_files:
        return [
            _problem("", "files", f"holds more than {limits.catalog_files} files (catalog_files)")
        ]
    found: list[Problem] = []
    total = 0
    for name, text in files.items():
        size = len(text.encode(errors="surrogatepass"))
        total += size
        if PLACE.fullmatch(name) is None:
            folders = ", ".join(SECTIONS)
            found.append(
                _problem(name, "place", f"must be {PACKAGE_FILE} or one .yaml file in {folders}")
            )
        elif size > limits.catalog_file_bytes:
            found.append(_too_large(name, limits))
    if total > limits.catalog_bytes:
        found.append(
            _problem("", "files", f"is larger than {limits.catalog_bytes} bytes (catalog_bytes)")
        )
    return found


def installed_packages() -> dict[str, Path]:
    """The packages that installed apps ship, by name; of two of one name, the later app's."""
    return {
        folder.parent.name: folder.parent
        for app in apps.get_app_configs()
        for folder in sorted(Path(app.path).glob(f"{FOLDER}/*/{PACKAGE_FILE}"))
    }


def _too_large(name: str, limits: Limits) -> Problem:
    most = limits.catalog_file_bytes
    return _problem(name, "file_size", f"is larger than {most} bytes (catalog_file_bytes)")


def _problem(name: str, rule: str, message: str) -> Problem:
    shown = name.encode(errors="replace").decode().replace("\0", "?")[:NAME_CHARS]
    return Problem(file=shown, line=0, rule=rule, message=message)
