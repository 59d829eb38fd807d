"""Settings of the bundled site; environment variables choose.

Without any variable this is a development site: SQLite, everything in one process, answering this
machine only. DATABASE_URL and REDIS_URL make it a production one, with DEBUG=0, DJANGO_SECRET_KEY
and ALLOWED_HOSTS. ARTIFACTR_MODEL names the model that agents use.
"""

import os
from pathlib import Path
from typing import Any

from artifactr_site import environment

BASE_DIR = Path(__file__).resolve().parent.parent
# Whatever the site itself writes, when no server is named: database, key.
STATE_DIR = Path(os.environ.get("ARTIFACTR_STATE_DIR", BASE_DIR / "var"))

DEBUG = environment.flag("DEBUG", default=True)
SECRET_KEY = environment.secret_key(STATE_DIR / "secret_key", debug=DEBUG)
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS") or (
    ["localhost", "127.0.0.1", "[::1]"] if DEBUG else []
)
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS")
REDIS_URL = os.environ.get("REDIS_URL")

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "pgtrigger",
    "artifacts",
    "threads",
    "learning",
    "feedback",
    "artifactr_site.docplan",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "artifactr_site.middleware.content_security_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "artifactr_site.urls"
ASGI_APPLICATION = "artifactr_site.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

STATE_DIR.mkdir(parents=True, exist_ok=True)
DATABASES: dict[str, dict[str, Any]] = {
    "default": environment.database(
        os.environ.get("DATABASE_URL") or f"sqlite:///{STATE_DIR / 'artifactr.sqlite3'}",
        pool_size=int(os.environ.get("DATABASE_POOL_SIZE", "0")),
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CHANNEL_LAYERS = environment.channel_layers(REDIS_URL)

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Ids go into messages and only wake a worker, so results are nobody's business; a task lost with
# its worker comes again, and its claim makes the second copy leave.
CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# The longest turn ends well before the broker would give its message to another worker. TERM lets
# turns end or be handed over (DRAIN_SECONDS); QUIT gives them this long before it cuts them off.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 30.0
# The periodic tasks, static: beat keeps its own file and needs no tables.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "sweep-turns": {"task": "threads.sweep_turns", "schedule": 30.0},
    "purge-receipts": {"task": "artifacts.purge_receipts", "schedule": 3600.0},
    "purge-uses": {"task": "feedback.purge_expired_uses", "schedule": 3600.0},
}

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
}
SPECTACULAR_SETTINGS = {
    "TITLE": "django-artifactr",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": [],
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG

# Pages carry no inline script or style, so one fixed policy does; same-origin covers the socket.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
if not DEBUG:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
if environment.flag("BEHIND_PROXY", default=False):
    # Only a proxy that always sets or strips this header may be trusted with it.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

ARTIFACTR: dict[str, Any] = {
    "AGENTS": {"default": "artifactr_site.docplan.agent.agent"},
    "EXECUTOR": "celery" if REDIS_URL else "threads",
}
if model := os.environ.get("ARTIFACTR_MODEL"):
    ARTIFACTR["MODEL"] = model
