"""From YAML files to checked definitions: where they are, how they are read, what is wrong."""
