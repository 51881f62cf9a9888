"""What goes with a verdict: latency budget, findings, plan, cleared elements, and what was not observed."""
