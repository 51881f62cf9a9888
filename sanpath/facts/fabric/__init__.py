"""Facts of the fabric: links, the share of the test in them, their neighbours, and switch ports."""
