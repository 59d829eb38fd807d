"""The bundled site: settings, routes, Celery app. Hosts bring their own; no wheel carries it."""

from artifactr_site.celery import app as celery_app

__all__ = ["celery_app"]
