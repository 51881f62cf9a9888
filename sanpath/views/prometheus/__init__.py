"""The diagnosis for Prometheus and whatever reads its text format or OpenMetrics."""
