"""A process of its own that dies in the middle of a bind: `python -m tests.feedback.dying …`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import django
from django.conf import settings
from django.db import connection, connections

PATIENCE = 120


def bind_and_die(workspace_id: str, point: str, key: str, *, snapshot: bool) -> int:
    """Bind elsewhere until `point` of the bind, and be killed there; how that process ended."""
    name = str(connection.settings_dict["NAME"])
    arguments = [name, workspace_id, point, key, "1" if snapshot else ""]
    done = subprocess.run(
        [sys.executable, "-m", "tests.feedback.dying", *arguments],
        cwd=settings.BASE_DIR, capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode < 0, done.stderr.decode()[-2_000:]
    return done.returncode


def main(name: str, workspace_id: str, point: str, key: str, snapshot: str) -> None:
    connections.settings["default"]["NAME"] = name
    from artifacts.workspace import open_workspace
    from feedback.services import uses
    from tests.feedback.uses import bound
    from tests.support.cast import ANA

    setattr(uses, point, lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL))
    bound(open_workspace(workspace_id, actor=ANA), idempotency_key=key, snapshot=bool(snapshot))


if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
