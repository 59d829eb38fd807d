"""Settings of the measured server: one API key opens all sockets, so its own bound is lifted."""

from benchmarks.settings import *  # noqa: F403

ARTIFACTR = {**ARTIFACTR, "SOCKETS_PER_USER": 2_000}  # noqa: F405
