"""`manage.py asyncapi > artifactr.v1.asyncapi.yaml`: the socket, for tools that read AsyncAPI."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from threads.surfaces.asyncapi import asyncapi_text


class Command(BaseCommand):
    help = "Write the AsyncAPI document of the live protocol."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(asyncapi_text(), ending="")
