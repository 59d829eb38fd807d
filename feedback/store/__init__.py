"""The one writer of uses and of their links to signals; private to the services."""
