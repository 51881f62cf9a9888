"""Facts of peers, similar components that share a load: which of them takes longer than its load explains."""
