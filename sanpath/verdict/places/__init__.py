"""The path of a load as a table of places: where an I/O's time passes, how much of it is waiting, and which source
says so."""
