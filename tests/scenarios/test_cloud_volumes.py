"""Load tests on cloud volumes: whether volume or instance holds the I/O back, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.cloud import EBS_MODEL, INSTANCE_STORE_MAGIC, INSTANCE_STORE_MODEL, CloudSan, Instance
from tests.support.san import KIB
from tests.support.stories import judged

VOLUME, HOST = "volume:c1/vol-0abc1234def567890", "host:db7"
Exceeded = tuple[float, float, float, float]
NONE: Exceeded = (0.0, 0.0, 0.0, 0.0)
SERVED = 0.0006
"""Seconds that a volume takes which is not held back."""


@dataclass(frozen=True)
class Case:
    """A load that stands at `ops` with 16 and 64 in flight, and what it is held back by. `rule`: the cause."""

    ops: float
    entity: str
    rule: str
    exceeded: Exceeded = NONE
    block: float = 16 * KIB
    direction: str = "read"
    more: Mapping[str, Any] = field(default_factory=dict)


def amazon(product: str = "m6i.4xlarge") -> Instance:
    serials = ("vol00000000000000000", "vol0abc1234def567890", "vol0fed9876cba543210")
    devices = {f"nvme{n}n1": (EBS_MODEL, serial) for n, serial in enumerate(serials)}
    return Instance("Amazon EC2", product, devices)


def other(vendor: str, size_gib: float = 1024) -> Instance:
    return Instance(vendor, "Virtual Machine", {"sdc": ("Virtual Disk", "")}, size_gib)


def judged_load(folder: Path, case: Case) -> Diagnosis:
    san = CloudSan(folder, leave_out={"array", "switch", "disk"}, ports=())
    san.instance = amazon()
    for name, value in case.more.items():
        setattr(san, name, value)
    san.load(1, min(1 / SERVED, case.ops / 2), NONE, case.block, case.direction)
    for in_flight in (16, 64):
        san.load(in_flight, case.ops, case.exceeded, case.block, case.direction)
    return judged(san.write())


AMAZON = {
    "IOPS of the volume": Case(3000, VOLUME, "cloud-volume-limit", (0.97, 0.0, 0.0, 0.0)),
    "IOPS of the volume, written": Case(3000, VOLUME, "cloud-volume-limit", (0.97, 0.0, 0.0, 0.0), direction="write"),
    "throughput of the volume": Case(500, VOLUME, "cloud-volume-limit", (0.0, 0.95, 0.0, 0.0), 256 * KIB),
    "the volume, whose page leaves the wait out": Case(
        3000, VOLUME, "cloud-volume-limit", (0.97, 0.0, 0.0, 0.0), more={"in_page": 0.03}
    ),
    "IOPS of the instance": Case(
        3600, HOST, "cloud-instance-limit", (0.0, 0.0, 0.96, 0.0), more={"instance": amazon("m5.large")}
    ),
    "throughput of the instance": Case(
        310, HOST, "cloud-instance-limit", (0.0, 0.0, 0.0, 0.9), 256 * KIB, more={"instance": amazon("m5.large")}
    ),
    "the instance, written, whose page leaves the wait out": Case(
        310,
        HOST,
        "cloud-instance-limit",
        (0.0, 0.0, 0.0, 0.9),
        256 * KIB,
        "write",
        {"instance": amazon("m5.large"), "in_page": 0.1},
    ),
    "the instance more than the volume": Case(3600, HOST, "cloud-instance-limit", (0.3, 0.0, 0.9, 0.0)),
    "the volume more than the instance": Case(3000, VOLUME, "cloud-volume-limit", (0.95, 0.0, 0.2, 0.0)),
    "two volumes, striped": Case(
        6000,
        VOLUME,
        "cloud-volume-limit",
        (0.97, 0.0, 0.0, 0.0),
        more={"devices": ("nvme1n1", "nvme2n1")},
    ),
    "two volumes, striped, and the instance": Case(
        20_000, HOST, "cloud-instance-limit", (0.0, 0.0, 0.9, 0.0), more={"devices": ("nvme1n1", "nvme2n1")}
    ),
    "instance store": Case(
        50_000,
        HOST,
        "cloud-instance-limit",
        (0.0, 0.0, 0.9, 0.0),
        4 * KIB,
        more={
            "instance": Instance(
                "Amazon EC2", "i4i.large", {"nvme1n1": (INSTANCE_STORE_MODEL, "AWS60A1B2C3D4E5F6A7B")}, page_id=0xC0
            ),
            "magic": INSTANCE_STORE_MAGIC,
        },
    ),
}
BY_TYPE = {
    "Premium SSD P30": Case(
        5000,
        "volume:c1/data1",
        "cloud-volume-limit-used",
        more={
            "instance": other("Microsoft Corporation"),
            "devices": ("sdc",),
            "settings": {
                "instance_type": "Standard_D16s_v5",
                "volumes": {"sdc": {"name": "data1", "type": "P30"}},
            },
        },
    ),
    "Azure size, uncached": Case(
        3750,
        HOST,
        "cloud-instance-limit-used",
        more={
            "instance": other("Microsoft Corporation"),
            "devices": ("sdc",),
            "settings": {"instance_type": "Standard_D2s_v5", "volumes": {"sdc": {"name": "data1", "type": "P40"}}},
        },
    ),
    "Azure size, cached": Case(
        4000,
        HOST,
        "cloud-instance-limit-used",
        block=4 * KIB,
        more={
            "instance": other("Microsoft Corporation"),
            "devices": ("sdc",),
            "settings": {
                "instance_type": "Standard_D2s_v3",
                "volumes": {"sdc": {"name": "data1", "type": "P40", "caching": "read_only"}},
            },
        },
    ),
    "Azure size, throughput": Case(
        324,
        HOST,
        "cloud-instance-limit-used",
        block=256 * KIB,
        more={
            "instance": other("Microsoft Corporation"),
            "devices": ("sdc",),
            "settings": {"instance_type": "Standard_D2s_v5", "volumes": {"sdc": {"name": "data1", "type": "P40"}}},
        },
    ),
    "pd-balanced of 100 GiB": Case(
        3600,
        "volume:c1/data1",
        "cloud-volume-limit-used",
        more={
            "instance": other("Google", 100),
            "devices": ("sdc",),
            "settings": {
                "instance_type": "n2-standard-16",
                "volumes": {"sdc": {"name": "data1", "type": "pd-balanced"}},
            },
        },
    ),
    "gp3 where nvme may not be run": Case(
        3000,
        VOLUME,
        "cloud-volume-limit-used",
        more={"has_page": False, "settings": {"volumes": {"nvme1n1": {"type": "gp3"}}}},
    ),
}


@pytest.mark.parametrize("name", [*AMAZON, *BY_TYPE])
def test_what_holds_the_volume_back_is_named(name: str, tmp_path: Path) -> None:
    case = {**AMAZON, **BY_TYPE}[name]
    found = judged_load(tmp_path, case)
    (cap,) = found.verdict.bottlenecks
    assert (found.verdict.kind, cap.entity) == ("configured_cap", case.entity)
    assert cap.layer == ("host" if case.entity == HOST else "array_front")
    causes = {finding.rule for finding in found.findings if finding.outcome == "hit" and finding.role == "cause"}
    assert case.rule in causes
    stripes = len(case.more.get("devices", ("nvme1n1",)))
    assert len(cap.coincident) == (stripes - 1 if case.entity != HOST else 0)
    if sum(share > 0 for share in case.exceeded) < 2:
        assert {rule for rule in causes if rule.startswith("cloud-")} == {case.rule}


P30 = {
    "instance": other("Microsoft Corporation"),
    "devices": ("sdc",),
    "settings": {"instance_type": "Standard_D16s_v5", "volumes": {"sdc": {"name": "data1", "type": "P30"}}},
}
"""A volume of Azure that does 5,000 IOPS without a burst."""


@pytest.mark.parametrize(
    ("ops", "exceeded", "more"),
    [
        (2000.0, NONE, {}),
        (2000.0, (0.004, 0.0, 0.002, 0.0), {}),
        (2000.0, NONE, {"settings": {"volumes": {"nvme1n1": {"type": "gp3", "ops_per_second": 2000}}}}),
        (
            2000.0,
            NONE,
            P30,
        ),
        (
            6000.0,
            NONE,
            P30,
        ),
    ],
    ids=[
        "no time at a limit",
        "bursts only",
        "at its number, and no time at it",
        "Azure below its caps",
        "Azure in a burst, beyond the cap of its type",
    ],
)
def test_a_volume_that_is_slow_itself_is_not_said_to_be_held_back(
    ops: float, exceeded: Exceeded, more: dict[str, Any], tmp_path: Path
) -> None:
    found = judged_load(tmp_path, Case(ops, "", "", exceeded, more=more))
    assert found.verdict.kind != "configured_cap"
    caps = [suspect.probability for suspect in found.verdict.suspects if suspect.verdict == "configured_cap"]
    assert sum(caps) < 0.05, "no time at a limit is evidence against it"
    assert not [f.rule for f in found.findings if f.outcome == "hit" and f.rule.startswith("cloud-")]
