"""What stands around a verdict: headline, latency budget, findings, plan, what was cleared and not seen."""
