"""The log page of Amazon's NVMe volumes."""

from __future__ import annotations

import pytest

from sanpath.plugin import CollectorError
from sanpath_collectors.cloud_volume import parse
from tests.support.cloud import INSTANCE_STORE_MAGIC, page

COUNTERS = (11, 12, 21, 22, 31, 32, 41, 42, 51, 52)
READS, WRITES = ((0, 512, 7), (512, 1024, 3)), ((0, 2**63, 4),)


def test_every_field_of_the_page_is_where_the_layout_says() -> None:
    parsed = parse.of_bytes(page(COUNTERS, queue=9, reads=READS, writes=WRITES))
    assert dict(parsed.values) == {
        "total_read_ops": 11,
        "total_write_ops": 12,
        "total_read_bytes": 21,
        "total_write_bytes": 22,
        "total_read_time": 31,
        "total_write_time": 32,
        "ebs_volume_performance_exceeded_iops": 41,
        "ebs_volume_performance_exceeded_tp": 42,
        "ec2_instance_performance_exceeded_iops": 51,
        "ec2_instance_performance_exceeded_tp": 52,
        "volume_queue_length": 9,
    }
    assert parsed.latencies == {"read": READS, "write": WRITES}


def test_instance_store_counts_the_time_at_the_limits_of_the_instance_only() -> None:
    values = parse.of_bytes(page(COUNTERS, magic=INSTANCE_STORE_MAGIC)).values
    assert values["ec2_instance_performance_exceeded_tp"] == 52
    assert not [name for name in values if name.startswith("ebs_")]


@pytest.mark.parametrize("counter", [0, 2**64 - 1])
def test_counters_have_64_bits(counter: int) -> None:
    assert set(parse.of_bytes(page((counter,) * 10)).values.values()) <= {counter, 0}


def test_a_histogram_that_says_to_have_more_bins_than_fit_has_those_that_fit() -> None:
    full = bytearray(page(COUNTERS, reads=[(n, n + 1, n) for n in range(64)]))
    full[512:520] = (10**12).to_bytes(8, "little")
    assert len(parse.of_bytes(bytes(full)).latencies["read"]) == 64


@pytest.mark.parametrize(
    "content", [b"", page(COUNTERS)[:4095], page(COUNTERS, magic=0), b"NVMe status: Invalid Log Page\n"]
)
def test_another_page_is_refused(content: bytes) -> None:
    with pytest.raises(CollectorError, match="no log page of an Amazon volume"):
        parse.of_bytes(content)
