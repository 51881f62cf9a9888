"""The collectors that come with sanpath, one folder each. Found by listing this folder, imported when used."""
