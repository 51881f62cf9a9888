"""The load commands of a run, on this machine and on others: started, followed, ended."""
