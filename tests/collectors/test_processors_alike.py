"""A processor is as busy whoever reads it: Linux' own counters, iostat and sar, or node_exporter."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sanpath_collectors.iostat.report import busy_ratio
from sanpath_collectors.linux_host.parse import processor_times
from sanpath_collectors.prometheus.profile import profiles

STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@given(st.lists(st.integers(0, 10_000), min_size=len(STATES), max_size=len(STATES)))
def test_all_collectors_mean_the_same_by_busy(ticks: list[int]) -> None:
    assume(sum(ticks))
    of_state = dict(zip(STATES, ticks, strict=True))
    times = processor_times(f"cpu  {' '.join(map(str, ticks))} 0 0\nintr 1\nctxt 1\n".encode())
    assert times is not None
    (busy,) = (
        part.sources["cpu_busy_seconds_total"].label_patterns["mode"]
        for part in profiles()["node_exporter"].entities
        if "cpu_busy_seconds_total" in part.sources
    )
    by_exporter = sum(count for state, count in of_state.items() if busy.fullmatch(state))
    by_iostat = busy_ratio({state: 100 * count / sum(ticks) for state, count in of_state.items()})
    assert times["cpu_busy_seconds_total"] == by_exporter
    assert by_iostat == pytest.approx(by_exporter / sum(ticks), abs=1e-9)
