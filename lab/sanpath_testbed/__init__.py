"""The test bed: records the simulated SAN as sanpath's collectors do, and scores sanpath's verdicts."""
