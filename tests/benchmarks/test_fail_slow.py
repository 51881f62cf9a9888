"""The score of slower-than-peers on labelled drives: made files with a known answer."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.benchmarks.fail_slow import labels, report, score

DISKS, SAMPLES = 12, 60


def host(folder: Path, name: str, times: dict[str, float], days: int = 3) -> None:
    """Write the drives of a host: each takes about 60 µs for 17 MB/s, `times` as long where it is named."""
    random = Random(name)
    (folder / "cluster_A" / name).mkdir(parents=True)
    for day in range(days):
        lines = ['"ts","disk_id","throughput","latency"']
        for sample in range(SAMPLES):
            for disk in (f"disk{number}" for number in range(1, DISKS + 1)):
                latency = 60 * times.get(disk, 1.0) * random.uniform(0.9, 1.1)
                lines.append(f'{1658322015 + 15 * sample},"{disk}",{random.uniform(16e6, 18e6):.2f},{latency:.2f}')
        lines.append(f'{1658322015 + 15 * SAMPLES},"disk1",NA,')
        (folder / "cluster_A" / name / f"2022-07-{20 + day}.csv").write_text("\n".join(lines), encoding="utf-8")


def test_a_drive_far_slower_than_its_peers_is_named_and_no_other(tmp_path: Path) -> None:
    host(tmp_path / "data", "host_1", {"disk5": 9.0})
    host(tmp_path / "data", "host_2", {"disk3": 1.5})
    (tmp_path / "slow.csv").write_text(
        "cluster,host_name,workload,disk_id,\ncluster_A,host_1,block,disk5,\ncluster_A,host_2,block,disk3,\n"
        "cluster_Z,host_9,block,disk1,\n",
        encoding="utf-8",
    )
    result = score(tmp_path / "data", 1e-6)
    assert result.named() == {("cluster_A", "host_1", "disk5")}
    text = report(result, labels(tmp_path / "slow.csv"))
    assert "24 drives, 72 drive-days, 2 drives verified slow" in text
    assert "drives: 1 named, 1 of them slow; 1 slow ones missed" in text


@pytest.mark.parametrize(("limits", "named"), [({}, 0), ({"most": 1.2, "lasting": 0.0, "shortest": 0.0}, 1)])
def test_limits_of_the_rule_are_its_own_unless_others_are_given(
    tmp_path: Path, limits: dict[str, float], named: int
) -> None:
    host(tmp_path, "host_2", {"disk3": 1.5})
    assert len(score(tmp_path, 1e-6, limits).named()) == named
