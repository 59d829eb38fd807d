"""The site's own settings, with the kinds that are measured and nothing that waits on a network."""

from artifactr_site.settings import *  # noqa: F403

DEBUG = False
SECRET_KEY = "benchmarks"
ARTIFACTR = {**ARTIFACTR, "AGENTS": {"default": "benchmarks.turns.hosted"}}  # noqa: F405
