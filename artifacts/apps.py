"""The foundation app: it connects what must be connected once the registry of apps is full."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_migrate, pre_migrate


class ArtifactsConfig(AppConfig):
    name = "artifacts"
    label = "artifactr"
    verbose_name = "Artifacts"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        # Without it our models fail on an option that Django does not know, which explains nothing.
        if not apps.is_installed("pgtrigger"):
            raise ImproperlyConfigured("artifactr: add 'pgtrigger' to INSTALLED_APPS")
        super().import_models()

    def ready(self) -> None:
        from . import guards, kinds, tasks  # noqa: F401 - tasks registers them with Celery
        from .checks import check_host, check_settings

        pre_migrate.connect(guards.remove_before_migrate, sender=self)
        post_migrate.connect(guards.install_after_migrate, sender=self)
        checks.register(guards.check_databases, checks.Tags.database)
        checks.register(check_settings)
        checks.register(check_host)
        kinds.autodiscover()
