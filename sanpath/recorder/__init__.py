"""The recorder: polls every source on a grid, starts the load and writes the recording. Only the CLI imports it."""
