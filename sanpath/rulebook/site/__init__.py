"""A site's settings for the rules: limits, accepted findings, and the options that choose them."""
