"""Limits of cloud volumes, by what their classes say."""

from __future__ import annotations

import pytest

from sanpath.plugin import CloudLimit
from sanpath_collectors.kubernetes.cloud_limits import default_parameters, volume_limit


@pytest.mark.parametrize(
    ("driver", "parameters"),
    [("ebs.csi.aws.com", {"type": "gp3"}), ("awsElasticBlockStore", {}), ("nfs.csi.k8s.io", {})],
)
def test_a_volume_has_its_drivers_default_type_only_if_its_class_sets_none(
    driver: str, parameters: dict[str, str]
) -> None:
    assert default_parameters(driver) == parameters
    assert volume_limit(driver, {}, None) == CloudLimit()
