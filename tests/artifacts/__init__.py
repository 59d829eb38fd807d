"""The foundation app, one file per door."""
