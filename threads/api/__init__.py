"""REST of conversations, beside that of the foundation and under the same prefix."""
