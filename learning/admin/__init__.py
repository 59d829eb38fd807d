"""The catalog and the records in the admin: to read, never to change."""

from . import catalog, records

__all__ = ["catalog", "records"]
