"""The test bed: records the simulated SAN as sanpath's collectors would, and scores what sanpath says of it."""
