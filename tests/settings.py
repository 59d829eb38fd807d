"""Settings of the suite: DATABASE_URL picks PostgreSQL (with Redis), its absence a SQLite file."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from artifactr_site import environment

# Set before the site's settings load: a test process leaves nothing in the project's folder.
_folder = tempfile.mkdtemp(prefix="artifactr-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["ARTIFACTR_STATE_DIR"] = _folder
os.environ.pop("ARTIFACTR_MODEL", None)

from artifactr_site.settings import *  # noqa: E402, F403

_worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
DATABASE_URL = os.environ.get("DATABASE_URL")

if DATABASE_URL:
    DATABASES = {"default": environment.database(DATABASE_URL)}
    CHANNEL_LAYERS = environment.channel_layers(os.environ["REDIS_URL"], prefix=f"test-{_worker}")
else:
    # A file, not memory: threads and other processes of a test need connections of their own.
    DATABASES = {"default": environment.sqlite(Path(_folder) / "site.sqlite3")}
    DATABASES["default"]["TEST"] = {"NAME": str(Path(_folder) / "test.sqlite3")}
    CHANNEL_LAYERS = environment.channel_layers(None)

DEBUG = False
SECRET_KEY = "only-for-tests"
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
SECURE_SSL_REDIRECT = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_BROKER_URL = "memory://"
# A posted message wakes nobody; tests of turns run the task themselves, or start workers.
ARTIFACTR = {"EXECUTOR": "celery"}
