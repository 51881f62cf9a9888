"""What is compared has read the same: every tool polls all values of a fabric, no more and no fewer."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.benchmarks.fabric import COLUMNS, fabrics, switches
from tests.benchmarks.pollers import Collectors, Recorder, bulkwalk

PORTS = 390
"""A full switch, and a small one."""


@pytest.mark.skipif(not shutil.which("snmpbulkwalk"), reason="net-snmp is not installed")
def test_every_poller_reads_every_value_once_a_poll(tmp_path: Path) -> None:
    with fabrics([PORTS]) as served:
        agents = served[PORTS]
        assert len(agents) == len(switches(PORTS)) == 2
        assert bulkwalk(agents)[0] == PORTS * len(COLUMNS)
        with Collectors(agents) as collectors:
            assert [collectors.poll()[0] for _ in range(2)] == [PORTS * len(COLUMNS)] * 2
        recorder = Recorder(agents, tmp_path)
        try:
            while recorder.polled < 1:
                time.sleep(0.2)
            recorder.end()
        finally:
            recorder.close()
        assert recorder.values(0.0, time.time()) == PORTS * len(COLUMNS) * recorder.polled
