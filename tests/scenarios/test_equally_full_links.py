"""Links whose utilisation differs by less than their counts are exact."""

from __future__ import annotations

from pathlib import Path

from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import NOTHING, SECOND_HBA, fast, judged

HOST_LINK = "link:esx7/vmhba2--sw1/fc1/7"


def test_two_links_that_differ_by_a_percent_are_full_together_wherever_the_threshold_lies(tmp_path: Path) -> None:
    """407.9 and 402.5 MB/s, 97.5 and 96.2 % of what a full link carries: neither is clearly fuller."""
    san = San(tmp_path, ports=[HOST_PORT, SECOND_HBA, fast(ARRAY_PORT)])
    ports = {"fc1/7": (407.9e6, NOTHING), "fc1/8": (402.5e6, NOTHING), "fc1/1": (810.4e6, NOTHING)}
    ops = 810.4e6 / (32 * 2076)
    san.step("t", 64, read=Flow(ops, 64 / ops), ports=ports, array={"read": AtArray(0.0004)})
    (bottleneck,) = judged(san.write()).verdict.bottlenecks
    assert (bottleneck.entity, *bottleneck.coincident) == (HOST_LINK, "link:esx7/vmhba3--sw1/fc1/8")
