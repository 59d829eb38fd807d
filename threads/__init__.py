"""Conversations and agent turns on top of `artifacts`."""
