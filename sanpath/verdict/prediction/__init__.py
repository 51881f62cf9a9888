"""What each element lets through, as recorded or under a change, and what would limit next."""
