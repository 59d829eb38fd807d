"""`manage.py protocol_schema > artifactr.v1.json`: the protocol, for clients to make types from."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from artifacts.core import protocol_schema_text


class Command(BaseCommand):
    help = "Write the JSON Schema of the protocol's frames, commands, events and entities."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(protocol_schema_text(), ending="")
