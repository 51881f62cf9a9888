"""Who is who, and how it hangs together: from what sources say to one graph of entities."""
