"""The threads app: it plugs its families, its mark and its wake-up into the write path."""

from __future__ import annotations

from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "threads"
    label = "artifactr_threads"
    verbose_name = "Threads"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from artifacts import extensions
        from threads import tasks  # noqa: F401 - registers them with Celery in every process
        from threads.services import turns
        from threads.store import families
        from threads.store.turns import mark_asked

        for family in families.ALL:
            extensions.register_family(*family)
        extensions.register_participant(mark_asked)
        extensions.register_reaction(turns.wake)
