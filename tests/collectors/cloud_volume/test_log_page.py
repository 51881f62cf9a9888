"""The log page of Amazon's NVMe volumes."""

from __future__ import annotations

import pytest

from sanpath.plugin import CollectorError
from sanpath_collectors.cloud_volume import parse
from tests.support.cloud import INSTANCE_STORE_MAGIC, page

COUNTERS = (11, 12, 21, 22, 31, 32, 41, 42, 51, 52)


def test_every_field_of_the_page_is_where_the_layout_says() -> None:
    parsed = parse.counters(page(COUNTERS, queue=9))
    assert parsed == {
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


def test_instance_store_counts_the_time_at_the_limits_of_the_instance_only() -> None:
    values = parse.counters(page(COUNTERS, magic=INSTANCE_STORE_MAGIC))
    assert values["ec2_instance_performance_exceeded_tp"] == 52
    assert not [name for name in values if name.startswith("ebs_")]


@pytest.mark.parametrize("counter", [0, 2**64 - 1])
def test_counters_have_64_bits(counter: int) -> None:
    assert set(parse.counters(page((counter,) * 10)).values()) <= {counter, 0}


@pytest.mark.parametrize(
    "content", [b"", page(COUNTERS)[:4095], page(COUNTERS, magic=0), b"NVMe status: Invalid Log Page\n"]
)
def test_another_page_is_refused(content: bytes) -> None:
    with pytest.raises(CollectorError, match="no log page of an Amazon volume"):
        parse.counters(content)
