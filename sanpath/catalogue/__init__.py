"""Entity kinds, metrics, facts, planes and link capacities: data with unit and meaning; documents come from it."""
