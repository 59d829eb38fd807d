"""The Celery app of the site; tasks live in the apps and are found there."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_process_init

from artifactr_site import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artifactr_site.settings")

app = Celery("artifactr")
# Web threads enqueue too, and Celery knows the app that was made last only on its own thread.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
def _trace(**_: Any) -> None:
    """In each child: what sends spans away is a thread, and threads are not forked."""
    tracing.set_up()
