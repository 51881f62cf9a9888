"""Which I/O engines of load generators reach their storage past the block devices of their machine."""

from __future__ import annotations

FIO_OVER_NETWORK = frozenset(("nbd", "rbd", "rados", "libiscsi", "http", "net", "rdma"))
"""Engines of fio that reach their storage over the network, past the block devices of the machine."""
