"""The first screen of a report as data: verdict, consequence, what is cleared, path and first action."""
