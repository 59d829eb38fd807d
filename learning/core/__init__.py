"""The rules of what agents run on and learn from, pure: no Django, no I/O, no clock.

Read in this order: `definitions` (what a catalog declares), `rules` (what must hold between its
parts), `schemas` (JSON Schema, bounded), `fields` and `records` (what a record must be).
"""
