"""What came of uses, at the desk: signals and uses to read, evidence to make of them, recipes to
look at. All of it is about the learning half, so without that app there is nothing here."""

from django.apps import apps

if apps.is_installed("learning"):
    from . import signals, uses

    __all__ = ["signals", "uses"]
