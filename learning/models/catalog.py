"""Definitions, kept for good, and which version of each is in force."""

from __future__ import annotations

from django.db import models

from artifacts import triggers
from artifacts.models import Workspace

NAME_LENGTH = 64
TYPE_LENGTH = 16


class Definition(models.Model):
    """One version of a declaration. `body` is its canonical JSON, `sha256` the hash of that.

    A package is a definition too: it lists the others that are applied with it.
    """

    class Type(models.TextChoices):
        PACKAGE = "package"
        COLLECTION = "collection"
        ARTIFACT = "artifact"
        VIEW = "view"
        DERIVATION = "derivation"

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="definitions", db_index=False
    )
    type = models.CharField(max_length=TYPE_LENGTH, choices=Type.choices)
    name = models.CharField(max_length=NAME_LENGTH)
    version = models.PositiveIntegerField()
    body = models.TextField()
    sha256 = models.CharField(max_length=64)
    actor = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "type", "name", "version"],
                name="artifactr_learning_definition_once",
            )
        ]
        triggers = [triggers.append_only()]

    def __str__(self) -> str:
        return f"{self.type} {self.name}@{self.version}"


class ActiveDefinition(models.Model):
    """Which version of a name is in force, and which package made it so."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="active_definitions", db_index=False
    )
    type = models.CharField(max_length=TYPE_LENGTH, choices=Definition.Type.choices)
    name = models.CharField(max_length=NAME_LENGTH)
    definition = models.OneToOneField(Definition, on_delete=models.PROTECT, related_name="active")
    package = models.ForeignKey(
        Definition, on_delete=models.PROTECT, related_name="activated", db_index=False
    )
    actor = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "type", "name"], name="artifactr_learning_active_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.name} is {self.definition}"
