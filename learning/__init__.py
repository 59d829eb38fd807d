"""What agents run on and learn from, kept as maintained values."""
