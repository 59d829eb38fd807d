"""The threads app: it plugs its families, its mark and its wake-up into the write path."""

from __future__ import annotations

from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "threads"
    label = "artifactr_threads"
    verbose_name = "Threads"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.core import checks

        from artifacts import executor, extensions
        from threads import tasks  # noqa: F401 - registers them with Celery in every process
        from threads.checks import check_agents, check_model
        from threads.services import turns, watching
        from threads.store import families
        from threads.store.turns import mark_asked

        checks.register(check_agents)
        checks.register(check_model)
        for family in families.ALL:
            extensions.register_family(*family)
        extensions.register_participant(mark_asked)
        extensions.register_reaction(turns.wake)
        extensions.register_stop(watching.stop_run)
        executor.on_stop(watching.hand_over_all)
