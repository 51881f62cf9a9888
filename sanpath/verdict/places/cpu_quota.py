"""The CPU quota of a control group that holds the load: its processes stop when it is used up, on idle cores too."""

from __future__ import annotations

from sanpath.facts.facts import Facts
from sanpath.facts.host.cpu_quotas import quota_used_ratio
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.units import percent


def quota_used(facts: Facts, load: LoadFacts) -> tuple[float, str]:
    """How far the quota is used that the load uses most, 0 to 1, and that in words. (0, ""): none is known."""
    row = facts.row_of(load)
    if not row["in_cpu_quota"] or row["cpu_quota_used_ratio"] is None:
        return 0.0, ""
    quota = f"CPU quota of {number(row, 'cpu_quota_cores'):.3g} cores"
    words = f"control group {row['cpu_group']} used {percent(number(row, 'cpu_quota_used_ratio'))} of its {quota}"
    if row["cpu_throttled_ratio"] is not None:
        words += f" and was stopped by it in {percent(number(row, 'cpu_throttled_ratio'))} of the periods"
    return quota_used_ratio(row), words
