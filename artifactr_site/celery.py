"""The Celery app of the site; tasks live in the apps and are found there."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artifactr_site.settings")

app = Celery("artifactr")
# Web threads enqueue too, and Celery knows the app that was made last only on its own thread.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
