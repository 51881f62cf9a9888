"""An adapter in a slot with too few PCIe lanes: its two ports look half idle, and do no more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from tests.support.half_read import COUNTED_BYTES, CountingHost
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow
from tests.support.stories import NOTHING, SECOND_HBA, fast, judged

OPS = 20_000.0


def two_ports(folder: Path, about: Mapping[str, Scalar]) -> Diagnosis:
    """20,000 reads of 64 KiB a second are 1,329 MB/s counted, half on each port of 16GFC (1,700 MB/s)."""
    san = CountingHost(folder, ports=[fast(HOST_PORT), fast(SECOND_HBA), fast(ARRAY_PORT, 32)], about=about)
    for n in (32, 128):
        half = (OPS * COUNTED_BYTES / 2, NOTHING)
        ports = {HOST_PORT.name: half, SECOND_HBA.name: half, ARRAY_PORT.name: (2 * half[0], NOTHING)}
        array = {"read": AtArray(3e-4, san=n / OPS - 4e-4)}
        san.step(f"q{n}", n, read=Flow(OPS, n / OPS), ports=ports, array=array)
    return judged(san.write())


def lanes(gigabytes: float, device: str | None = "0000:3b:00") -> Mapping[str, Scalar]:
    return {"pcie_bits_per_second": 8e9 * gigabytes, "pci_device": device}


def test_both_ports_of_an_adapter_fill_its_lanes(tmp_path: Path) -> None:
    """1.33 of 1.48 GB/s: packets of 256 bytes leave nine tenths for data."""
    found = two_ports(tmp_path, lanes(1.48))
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.layer) == ("pcie", "host")
    assert {bottleneck.entity, *bottleneck.coincident} == {"hba:esx7/vmhba2", "hba:esx7/vmhba3"}
    assert found.summary.verdict.startswith("PCIe lanes of ")
    assert {f.role for f in found.findings if f.rule == "pcie-below-port" and f.outcome == "hit"} == {"cause"}


@pytest.mark.parametrize(("gigabytes", "device"), [(6.0, "0000:3b:00"), (1.48, None)], ids=["room", "two adapters"])
def test_lanes_with_room_do_not(tmp_path: Path, gigabytes: float, device: str | None) -> None:
    verdict = two_ports(tmp_path, lanes(gigabytes, device)).verdict
    assert "pcie" not in {suspect.kind for suspect in verdict.suspects if suspect.probability > 0.05}
