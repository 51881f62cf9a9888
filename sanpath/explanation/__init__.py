"""What goes with a verdict: headline, curves, latency budget, findings, plan, what was cleared or not observed."""
