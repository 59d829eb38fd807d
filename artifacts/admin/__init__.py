"""The review desk in Django's admin: the queue and its decision pages, artifacts, the log, tenancy.

Thin: pages read through the workspace's door and decide by sending commands through it.
"""

from . import artifacts, log, queue, tenancy

__all__ = ["artifacts", "log", "queue", "tenancy"]
