"""The judgement of each step and of the run: all claims weighed against each other, with a grade."""
