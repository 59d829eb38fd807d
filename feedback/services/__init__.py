"""What applications do with uses: bind one, read it, say what came of it, purge the old ones."""
