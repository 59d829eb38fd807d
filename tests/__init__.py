"""The suite; `python -m tests.run` runs all of it."""
