"""Papers that are made from declarations, so that nobody copies them by hand."""
