"""A simulated SAN that speaks the real protocols: it shares no code and no formula with the analysis."""
