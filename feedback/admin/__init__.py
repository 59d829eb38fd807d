"""What came back, at the desk: typed feedback to read and to give; and of the learning half, where
that app is installed, signals, uses and recipes to look at, and evidence to make of signals."""

from django.apps import apps

from . import given

__all__ = ["given"]

if apps.is_installed("learning"):
    from . import signals, uses

    __all__ += ["signals", "uses"]
