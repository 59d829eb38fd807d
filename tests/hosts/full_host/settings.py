"""A project with a user model of its own that installs all four apps."""

from artifacts.sqlite import sqlite_options

SECRET_KEY = "host"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "urls"
MOUNTED_AT = "shared/v1"
AUTH_USER_MODEL = "accounts.Person"
REVIEWER = {"email": "ana@host.example", "password": "x"}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "pgtrigger",
    "accounts",
    "artifacts",
    "threads",
    "learning",
    "feedback",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
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
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "host.sqlite3",
        "OPTIONS": sqlite_options(),
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
STATIC_URL = "static/"
USE_TZ = True
