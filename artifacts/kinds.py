"""The kinds of artifact of this process: what `artifact_types.py` of any installed app defines."""

from __future__ import annotations

from django.utils.module_loading import autodiscover_modules

from .core.artifact import artifact_type, registered_kinds

__all__ = ["artifact_type", "autodiscover", "registered_kinds"]


def autodiscover() -> None:
    """Import every `artifact_types` module; defining a type registers it."""
    autodiscover_modules("artifact_types")
