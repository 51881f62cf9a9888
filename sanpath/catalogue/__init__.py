"""Entity kinds, metrics, facts, planes and link capacities: data with units and meanings, the source of documents."""
