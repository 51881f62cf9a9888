"""The first screen of a report as data: verdict, consequence, acquittal, path and first action."""
