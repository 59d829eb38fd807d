"""The bundled site: what its environment variables do."""
