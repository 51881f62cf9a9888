"""Facts of peers, similar components that share a load: which of them is slower than its load explains."""
