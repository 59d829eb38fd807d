"""The feedback app: it finds the feedback types of every installed app. Beside `learning` it makes
signals of feedback on turns, and beside `threads` it tells turns the texts of recipes."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.utils.module_loading import autodiscover_modules


class FeedbackConfig(AppConfig):
    name = "feedback"
    label = "artifactr_feedback"
    verbose_name = "Feedback"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from artifacts import extensions
        from artifacts.surfaces import problems
        from feedback import tasks  # noqa: F401 - registers them with Celery in every process
        from feedback.core import errors

        problems.register_statuses(errors.STATUS)
        autodiscover_modules("feedback_types")
        if not apps.is_installed("learning"):
            return
        from feedback.services import turns

        extensions.register_participant(turns.signal_feedback)
        if apps.is_installed("threads"):
            from threads.agent.instructions import register_instruction_source

            extensions.register_participant(turns.link_messages)
            register_instruction_source(turns.instructions)
