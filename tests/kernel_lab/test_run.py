"""A case of the kernel lab is built, recorded and judged, where QEMU is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_lab.requirements import missing

LAB = Path(__file__).parents[2] / "examples/kernel-lab"


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))
def test_a_full_port_between_two_kernels_is_named(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, LAB / "lab.py", "run", "--case", "nvme-one-port", "--folder", tmp_path / "lab"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "BOTTLENECK" in run.stdout
    assert "100 Mb/s link host1 eth1–sw-a p-host is saturated" in run.stdout.replace("\n", " ")
    assert not [path for path in (tmp_path / "lab").iterdir() if path.name in ("secrets", "state.json")]
