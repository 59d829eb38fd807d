"""What is wrong with a catalog: where it stands, which rule it breaks, and why."""

from __future__ import annotations

from dataclasses import dataclass

from artifacts.core.values import Value

Loc = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule at a place inside one definition."""

    loc: Loc
    rule: str
    message: str


class Problem(Value):
    """A finding in its file. `line` counts from 1 and is 0 where there is no file to look into."""

    file: str
    line: int
    rule: str
    message: str

    @property
    def line_text(self) -> str:
        return f"{self.file}:{self.line}: {self.message} [{self.rule}]"
