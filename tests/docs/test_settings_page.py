"""The settings page says what the code says: every setting and limit, with its default and line."""

from __future__ import annotations

import ast
import inspect
from dataclasses import MISSING, fields
from pathlib import Path

from artifacts.conf import Settings
from artifacts.core.limits import Limits

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "settings.md").read_text()


def docstrings() -> dict[str, str]:
    """The string below each field, as the dataclass's source has it."""
    body = ast.parse(inspect.getsource(Settings)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
            assert isinstance(field.target, ast.Name)
            assert isinstance(after.value, ast.Constant)
            found[field.target.id] = " ".join(str(after.value.value).split())
    return found


def settings_rows() -> list[str]:
    said = docstrings()
    rows = []
    for field in fields(Settings):
        default = {} if field.default is MISSING else field.default
        line = said[field.name].replace("|", r"\|")
        rows.append(f"| `{field.name}` | `{default!r}` | {line} |")
    return rows


def limits_rows() -> list[str]:
    return [f"| `{field.name}` | `{field.default:,}` |" for field in fields(Limits)]


def test_every_setting_stands_on_the_page() -> None:
    missing = [row for row in settings_rows() if row not in PAGE]
    assert not missing, "docs/settings.md lacks these rows:\n" + "\n".join(missing)


def test_every_limit_stands_on_the_page() -> None:
    missing = [row for row in limits_rows() if row not in PAGE]
    assert not missing, "docs/settings.md lacks these rows:\n" + "\n".join(missing)


def test_the_page_names_nothing_that_is_gone() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert set(rows) == {*settings_rows(), *limits_rows()}
