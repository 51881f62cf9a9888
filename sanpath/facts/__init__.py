"""Facts: what a recording says about each entity in each load step and direction."""
