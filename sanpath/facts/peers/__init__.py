"""Facts of things that are alike and share a load: which of them takes longer than its load explains."""
