"""The learning app; its one kind of artifact is found by the foundation."""

from __future__ import annotations

from django.apps import AppConfig


class LearningConfig(AppConfig):
    name = "learning"
    label = "artifactr_learning"
    verbose_name = "Learning"
    default_auto_field = "django.db.models.BigAutoField"
