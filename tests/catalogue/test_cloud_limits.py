"""The table of what clouds allow, against figures of their own documents."""

from __future__ import annotations

import pytest

from sanpath.catalogue.catalogue import cloud_limits
from sanpath.catalogue.cloud import Cloud, CloudLimit, clouds

MIB = 1 << 20


def cloud(key: str) -> Cloud:
    (found,) = (cloud for cloud in clouds() if cloud.key == key)
    return found


@pytest.mark.parametrize(
    ("key", "volume_type", "gib", "ops", "bytes_"),
    [
        ("amazon", "gp3", None, 3000, 125 * MIB),
        ("amazon", "gp2", 20, 100, 128 * MIB),
        ("amazon", "gp3", 0, 3000, 125 * MIB),
        ("amazon", "gp2", 170, 510, 128 * MIB),
        ("amazon", "gp2", 171, 513, 250 * MIB),
        ("amazon", "gp2", 1000, 3000, 250 * MIB),
        ("amazon", "gp2", 16_000, 16_000, 250 * MIB),
        ("amazon", "st1", 1024, None, 40 * MIB),
        ("amazon", "st1", 16_384, None, 500 * MIB),
        ("azure", "P30", None, 5000, 200e6),
        ("google", "pd-ssd", 100, 9000, 288 * MIB),
        ("google", "pd-balanced", 100_000, 80_000, 1200 * MIB),
    ],
)
def test_limits_of_volumes(key: str, volume_type: str, gib: float | None, ops: float | None, bytes_: float) -> None:
    limit = cloud(key).volume(volume_type, gib)
    assert limit is not None
    assert limit.ops_per_second == ops
    assert limit.bytes_per_second == pytest.approx(bytes_, rel=1e-4)


def test_a_limit_that_goes_by_size_is_not_known_without_it() -> None:
    assert cloud("amazon").volume("gp2", None) == CloudLimit(None, None)


@pytest.mark.parametrize(
    ("key", "instance_type", "cached", "limit"),
    [
        ("amazon", "m6i.16xlarge", False, CloudLimit(80_000, 2500e6)),
        ("amazon", "m5.large", False, CloudLimit()),
        ("azure", "Standard_D8s_v5", False, CloudLimit(12_800, 290e6)),
        ("azure", "Standard_D8s_v3", True, CloudLimit(16_000, 128e6)),
        ("azure", "Standard_D8s_v5", True, None),
        ("google", "n2-standard-8", False, None),
    ],
)
def test_limits_of_instances(key: str, instance_type: str, cached: bool, limit: CloudLimit | None) -> None:
    """A size with bursts has no limit of its own; what is not in the table is not known."""
    assert cloud(key).instance(instance_type, cached) == limit


def test_every_list_has_its_source_and_limits_above_nothing() -> None:
    for key, body in cloud_limits().items():
        assert body["sources"], key
        rows = [*body["instance_types"].values(), *body.get("cached", {}).values()]
        assert all(len(row) in (2, 4) and min(row) > 0 for row in rows), key
        assert all(row[0] <= row[2] and row[1] <= row[3] for row in rows if len(row) == 4), key
        assert all(volume.get("ops") or volume.get("bytes") for volume in body["volume_types"].values()), key
