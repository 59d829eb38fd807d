"""A process of a site that posts a message and waits for the turn that a worker takes.

Run as a script; prints the log's event types as JSON, and who took the turn.
"""

import json
import os
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artifactr_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from artifactr_site.docplan import seed  # noqa: E402
from artifacts import core  # noqa: E402
from artifacts.models import Lease, Workspace  # noqa: E402
from artifacts.workspace import open_workspace  # noqa: E402
from threads import selectors  # noqa: E402

call_command("migrate", verbosity=0)
seed.seed()
workspace = open_workspace(seed.WORKSPACE_ID, actor=core.UserActor(id="1", name="Ana"))
workspace.commit(core.PostMessage(thread_id=seed.THREAD_ID, content="Add a section on pricing"))

deadline = time.monotonic() + 60
while not any(run.has_ended for run in selectors.runs(workspace)):
    if time.monotonic() > deadline:
        sys.exit("nobody took the turn")
    time.sleep(0.05)

row = Workspace.objects.get(public_id=seed.WORKSPACE_ID)
holder = Lease.objects.get(workspace=row, key=f"thread:{seed.THREAD_ID}").holder
json.dump(
    {
        "types": [each.event.type for each in workspace.read()],
        "status": [run.status for run in selectors.runs(workspace)],
        "taken_by_pid": int(holder.split(":")[1]),
        "own_pid": os.getpid(),
    },
    sys.stdout,
)
