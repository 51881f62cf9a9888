"""The topology: what all sources report, joined into one graph of entities, links and I/O paths."""
