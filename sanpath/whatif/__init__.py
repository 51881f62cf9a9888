"""What a test would reach under other settings, or with its bottlenecks relieved."""
