"""Make an API key for one workspace, or for a whole tenant, and print it once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from pydantic import ValidationError

from artifacts import clock
from artifacts.core.actors import Actor, SystemActor, actor_adapter
from artifacts.core.artifact import validation_failed
from artifacts.core.errors import ValidationFailed
from artifacts.keys import create_key
from artifacts.models import Role, Tenant, Workspace


class Command(BaseCommand):
    help = "Make an API key and print it; it cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workspace", nargs="?", help="id of the workspace it opens")
        parser.add_argument("--tenant", help="id of a tenant, all of whose workspaces it opens")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--name", required=True, help="what it is for; shown in the admin")
        parser.add_argument(
            "--actor",
            help="JSON of who acts by it, such as "
            '\'{"kind": "external_agent", "client_id": "bot"}\'; without, the system as key/NAME',
        )
        parser.add_argument("--expires-days", type=int, help="days until it stops working")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant, workspace = _place(options["workspace"], options["tenant"])
        days = options["expires_days"]
        if days is not None and days < 1:
            raise CommandError("--expires-days must be at least 1")
        try:
            _, text = create_key(
                tenant=tenant,
                workspace=workspace,
                name=options["name"],
                role=options["role"],
                actor=_actor(options["actor"], name=options["name"]),
                expires_at=clock.now() + timedelta(days=days) if days else None,
            )
        except ValidationFailed as error:
            raise CommandError(error.message) from None
        self.stdout.write(text)


def _place(workspace_id: str | None, tenant_id: str | None) -> tuple[Tenant, Workspace | None]:
    if (workspace_id is None) == (tenant_id is None):
        raise CommandError("name either a workspace or a --tenant")
    if workspace_id is None:
        tenant = Tenant.objects.filter(public_id=tenant_id).first()
        if tenant is None:
            raise CommandError("there is no such tenant")
        return tenant, None
    workspace = Workspace.objects.select_related("tenant").filter(public_id=workspace_id).first()
    if workspace is None:
        raise CommandError("there is no such workspace")
    return workspace.tenant, workspace


def _actor(text: str | None, *, name: str) -> Actor:
    try:
        if text is None:
            return SystemActor(name=f"key/{name}")
        return actor_adapter.validate_json(text)
    except ValidationError as error:
        raise CommandError(f"--actor: {validation_failed(error).message}") from None
