"""Shared, typed, versioned artifacts with one write path and one ordered log."""
