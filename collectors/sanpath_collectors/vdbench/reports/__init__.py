"""The files of vdbench's output folder, a module each, and their common format."""
