"""The rules of feedback on uses, pure: what may be said, and the record that comes of it."""
