"""The files of vdbench's output folder, one module for each, and their common format."""
