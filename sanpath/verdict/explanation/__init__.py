"""What goes with a verdict: headline, latency budget, findings, plan, cleared elements, and what was not observed."""
