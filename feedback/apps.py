"""The feedback app: it finds the feedback types of every installed app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class FeedbackConfig(AppConfig):
    name = "feedback"
    label = "artifactr_feedback"
    verbose_name = "Feedback"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        autodiscover_modules("feedback_types")
