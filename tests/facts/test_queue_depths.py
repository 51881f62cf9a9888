"""How many I/Os a block device takes at once: the host's own limit, or the command windows of its sessions."""

from __future__ import annotations

import pytest

from sanpath.facts.devices.queue_depths import requests_held, virtqueue_slots, with_command_windows
from sanpath.model import Scalar, SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

LUN = "lun:db1/dm-0"


def sessions(*windows: int | None, usable: tuple[bool, ...] = ()) -> Topology:
    """A LUN with a path to a target port for each window. None: the port does not tell its window."""
    items: list[SourceEntity | SourceLink] = [SourceEntity("lun", "db1/dm-0", "db1/dm-0")]
    for number, window in enumerate(windows):
        path, port = f"db1/sd{number}", f"stor1/eth{number}"
        attributes: dict[str, Scalar] = {} if window is None else {"command_window": window}
        items += [
            SourceEntity("path", path, path, attributes={"usable": usable[number] if usable else True}),
            SourceEntity("array_port", port, port, attributes=attributes),
            SourceLink("member_of", ("path", path), ("lun", "db1/dm-0"), "test"),
            SourceLink("targets", ("path", path), ("array_port", port), "test"),
        ]
    return resolve([("test", 0, item) for item in items])


@pytest.mark.parametrize(
    ("topology", "depth", "expected"),
    [
        (sessions(4, 4), 64, 8),
        (sessions(64, 64), 32, 32),
        (sessions(4, 4), None, 8),
        (sessions(4, None), 64, 64),
        (sessions(), None, None),
        (sessions(4, 4, usable=(True, False)), 64, 4),
        (sessions(4, usable=(False,)), 64, 64),
    ],
    ids=[
        "windows",
        "the host's depth",
        "only windows",
        "a window unread",
        "nothing",
        "a path down",
        "all paths down",
    ],
)
def test_the_smaller_limit_counts(topology: Topology, depth: float | None, expected: float | None) -> None:
    assert with_command_windows(topology, LUN, depth) == expected


@pytest.mark.parametrize(
    ("attributes", "threads", "expected"),
    [
        ({"nr_requests": 256, "hardware_queues": 8}, 16, 2048),
        ({"nr_requests": 256, "hardware_queues": 8}, 1, 256),
        ({"nr_requests": 256, "hardware_queues": 8}, None, None),
        ({"nr_requests": 128}, 4, 128),
        ({"hardware_queues": 4}, 4, None),
    ],
    ids=[
        "a thread for each",
        "a single thread",
        "threads unread",
        "queues unread",
        "no requests, as a logical volume",
    ],
)
def test_each_hardware_queue_holds_its_own_requests(
    attributes: dict[str, Scalar], threads: int | None, expected: float | None
) -> None:
    topology = resolve(
        [
            ("h", 0, SourceEntity("host", "db1", "db1")),
            ("h", 0, SourceEntity("lun", "db1/vda", "db1/vda", attributes=attributes)),
            ("h", 0, SourceLink("attached_to", ("lun", "db1/vda"), ("host", "db1"), "test")),
            ("h", 0, SourceEntity("load", "fio", "fio")),
            ("h", 0, SourceEntity("load", "fio/a", "fio/a", attributes={"threads": threads})),
            ("h", 0, SourceLink("member_of", ("load", "fio/a"), ("load", "fio"), "test")),
            ("h", 0, SourceLink("runs_on", ("load", "fio"), ("host", "db1"), "test")),
        ]
    )
    assert requests_held(topology, "lun:db1/vda") == expected


@pytest.mark.parametrize(
    ("attributes", "threads", "expected"),
    [
        ({"controller_type": "virtio_blk", "queue_size": 16, "queues": 1}, None, 16),
        ({"controller_type": "virtio_blk", "queue_size": 256, "queues": 4}, 1, 256),
        ({"controller_type": "virtio_blk", "queue_size": 256, "queues": 4}, 2, 512),
        ({"controller_type": "virtio_blk", "queue_size": 256, "queues": 4}, None, None),
        ({"controller_type": "virtio_scsi", "queue_size": 128, "queues": 1}, 1, None),
        ({}, 1, None),
    ],
    ids=["one queue", "a single thread", "two threads", "threads unread", "a controller's queues", "no virtual disk"],
)
def test_a_virtio_disk_has_the_slots_of_its_queues(
    attributes: dict[str, Scalar], threads: int | None, expected: float | None
) -> None:
    topology = resolve(
        [
            ("q", 0, SourceEntity("vm", "db1", "db1")),
            ("q", 0, SourceEntity("vdisk", "db1/data", "db1/data", attributes=attributes)),
            ("q", 0, SourceLink("attached_to", ("vdisk", "db1/data"), ("vm", "db1"), "test")),
            ("q", 0, SourceEntity("load", "fio", "fio", attributes={"threads": threads})),
            ("q", 0, SourceLink("runs_on", ("load", "fio"), ("vm", "db1"), "test")),
        ]
    )
    assert virtqueue_slots(topology, "vdisk:db1/data") == expected
