"""The host's one app."""
