"""Result files that are put into a recording."""
