"""Cases of the kernel lab are built, recorded and judged, where QEMU is and its images were built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_lab.images import cached
from kernel_lab.requirements import missing

LAB = Path(__file__).parents[2] / "examples/kernel-lab"
LACKING = missing() or ([] if cached().exists() else ["no images: run `python examples/kernel-lab/lab.py images`"])


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason="; ".join(LACKING))
@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        ("nvme-one-port", "100 Mb/s link host1 eth1–sw-a p-host is saturated"),
        ("iscsi-target-cap", "array1 is saturated"),
        ("nvme-fc-target-cap", "array1 is saturated"),
        ("kvm-iops-limit", "IOPS limit of virtual disk vm1 data is reached"),
    ],
)
def test_what_limits_real_kernels_is_named(tmp_path: Path, case: str, verdict: str) -> None:
    run = subprocess.run(
        [sys.executable, LAB / "lab.py", "run", "--case", case, "--folder", tmp_path / "lab"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert verdict in run.stdout.replace("\n", " ")
    assert not [path for path in (tmp_path / "lab").iterdir() if path.name in ("secrets", "state.json")]
