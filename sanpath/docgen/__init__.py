"""Pages of the documentation that are generated from declarations, so that nothing is documented twice by hand."""
