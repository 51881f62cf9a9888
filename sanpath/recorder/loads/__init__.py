"""The load commands of a run, on this machine and on other hosts: start, output and end."""
