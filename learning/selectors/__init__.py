"""Reads of the catalog, of records, and of the values in force; never a write."""
