"""A test from hosts of unlike systems: what they call their block layers differs, and is parallel all the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.verdict.places.host_queues import HostQueue, host_queues
from tests.support.reading_hosts import Reads, recorded_reads


def queues(folder: Path, *hosts: Reads) -> Sequence[HostQueue]:
    """The queues above the clocks of the devices, of the whole load."""
    facts, _ = judge_recording(recorded_reads(folder, **{f"db{n}": reads for n, reads in enumerate(hosts, 1)}))
    return host_queues(facts, next(load for load in facts.loads if len(load.roots) == len(hosts)))


@pytest.mark.parametrize("planes", [("guest_block", "windows_disk"), ("windows_disk", "guest_block")])
@pytest.mark.parametrize("at_devices", [(64, 60), (64, 8), (8, 64), (8, 2)])
def test_hosts_of_unlike_systems_have_the_queues_of_hosts_of_one_system(
    tmp_path: Path, planes: tuple[str, str], at_devices: tuple[int, int]
) -> None:
    """64 I/Os of each host are outstanding, and so many at its device."""
    unlike, alike = (
        queues(
            tmp_path / name,
            *(Reads(64, at, depth=None, plane=plane) for at, plane in zip(at_devices, names, strict=True)),
        )
        for name, names in (("a", planes), ("b", ("guest_block", "guest_block")))
    )
    assert [queue.waiting for queue in unlike] == pytest.approx([queue.waiting for queue in alike], abs=0.1)
    assert [queue.entity for queue in unlike] == [queue.entity for queue in alike]
    assert min(queue.waiting for queue in unlike) > -0.5, "no I/O waits in front of another host's device"


def test_the_device_of_one_host_is_not_on_the_path_of_another(tmp_path: Path) -> None:
    """Only one of two hosts is read: its clock is not that of the whole load."""
    assert not queues(tmp_path, Reads(64, 48), Reads(16, 16, is_read=False))
