"""The host's own people, and a kind of artifact of its own."""
