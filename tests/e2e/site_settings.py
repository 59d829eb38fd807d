"""Settings of servers that tests start: the site's own, with what a test changes."""

import json
import os

from artifactr_site.settings import *  # noqa: F403

DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "live.example"]
SECURE_SSL_REDIRECT = False
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = False
CSRF_TRUSTED_ORIGINS = ["https://trusted.example", "https://*.partner.example"]
INSTALLED_APPS = [*INSTALLED_APPS, "tests.e2e"]  # noqa: F405
ARTIFACTR = {**ARTIFACTR, **json.loads(os.environ.get("E2E_ARTIFACTR", "{}"))}  # noqa: F405
if layer := os.environ.get("E2E_CHANNEL_LAYERS"):
    CHANNEL_LAYERS = json.loads(layer)
ROOT_URLCONF = "tests.e2e.urls"
CELERY_TASK_DEFAULT_QUEUE = os.environ.get("E2E_QUEUE", "celery")
if seconds := os.environ.get("E2E_SWEEP_SECONDS"):
    CELERY_BEAT_SCHEDULE["sweep-turns"]["schedule"] = float(seconds)  # noqa: F405
