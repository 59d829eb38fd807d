"""The learning app: it plugs contracts and records into the write path, and search into migrate."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class LearningConfig(AppConfig):
    name = "learning"
    label = "artifactr_learning"
    verbose_name = "Learning"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from artifacts import extensions
        from artifacts.surfaces import problems
        from learning.core import errors, render_errors
        from learning.selectors import verification
        from learning.store import citations, contracts, mirror, search

        extensions.register_family(*contracts.FAMILY)
        extensions.register_verifier(verification.problems_of)
        extensions.register_participant(mirror.mirror_revisions)
        extensions.register_participant(citations.keep_with_remainder)
        post_migrate.connect(search.install_after_migrate, sender=self)
        problems.register_statuses({**errors.STATUS, **render_errors.STATUS})
