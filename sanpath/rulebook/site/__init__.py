"""What a site sets for the rules: limits, accepted findings, and the options that choose them."""
