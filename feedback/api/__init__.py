"""REST of uses, under the same prefix as that of the foundation; it needs the learning app."""
