"""REST of catalog and records, beside that of the foundation and under the same prefix."""
