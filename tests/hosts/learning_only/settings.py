"""A project that keeps evidence and maintained values, and has no agents of its own."""

SECRET_KEY = "host"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "urls"
MOUNTED_AT = "api"
REVIEWER = {"username": "ana", "password": "x"}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "rest_framework",
    "pgtrigger",
    "shop",
    "artifacts",
    "learning",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
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
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "host.sqlite3"}}
STATIC_URL = "static/"
USE_TZ = True
