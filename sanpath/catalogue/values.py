"""Values of attributes that mean something to the analysis: states, multipath policies, I/O engines."""

from __future__ import annotations

WORKING_STATES = frozenset({"ok", "healthy", "ready", "identifying"})
"""States of a component that works; one that identifies itself only blinks, so that a person finds it."""

FIO_OVER_NETWORK = frozenset(("nbd", "rbd", "rados", "libiscsi", "http", "net", "rdma"))
"""Engines of fio that reach their storage over the network, past the block devices of the machine."""
FIO_PAST_THE_BLOCK_LAYER = frozenset(("sg", "io_uring_cmd"))
"""Engines of fio that pass their commands to the driver of a device: Linux counts none of them among its I/Os."""

IN_TURN_POLICIES = ("round_robin",)
"""Multipath policies, values of the attribute path_policy, that send some I/Os over a path, then as many over the
next."""
ADAPTIVE_POLICIES = ("service_time", "queue_length", "least_queue_depth")
"""They give a path as much as it can carry."""
SINGLE_PATH_POLICIES = ("most_recently_used", "fixed", "failover_only")
"""They use one path until it fails."""
