"""Parts of the live protocol by themselves; whole servers are in `tests/e2e`."""
