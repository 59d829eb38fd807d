"""The desk with a skill in force, signals on uses of it, and pages that run nothing inline."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from artifacts.workspace import Workspace
from feedback.local import Local
from tests.support.desk import Desk, make_desk
from tests.support.skilled import RECIPE, TASK, make_skilled

INLINE = re.compile(
    r"<style|<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE
)


def make_skilled_desk() -> Desk:
    """A skill in force, here and at Otto's."""
    made = make_desk()
    make_skilled(made.door("ben"))
    make_skilled(made.door("otto"), "agent:otto")
    return made


def judged(workspace: Workspace, kind: str = "thumbs_down", **details: Any) -> str:
    """A signal on a use of its own; its record."""
    here = Local(workspace)
    use = here.artifact(RECIPE).bind({**TASK, **details.pop("parameters", {})})
    source = details.pop("source", "end_user")
    answer = here.feedback.submit(use_id=use.id, kind=kind, source=source, **details)  # type: ignore[arg-type]
    return answer["record_id"]


def text_of(desk: Desk, url: str, name: str = "ana") -> str:
    answer = desk.client(name).get(url)
    assert answer.status_code == 200, url
    text = answer.content.decode()
    main = re.sub(r"(?s).*?<main|<nav.*?</nav>", "", text, count=1)
    assert not INLINE.search(main.split("</main>")[0]), url
    return unescape(text)
