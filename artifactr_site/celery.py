"""The Celery app of the site; tasks live in the apps and are found there."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artifactr_site.settings")

app = Celery("artifactr")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
