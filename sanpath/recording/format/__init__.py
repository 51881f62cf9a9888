"""The format of a recording: its layout, tables, documents, checksums and limits."""
