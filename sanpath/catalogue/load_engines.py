"""Which I/O engines of load generators reach their storage past the block devices of their machine."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.model import Scalar

FIO_OVER_NETWORK = frozenset(("nbd", "rbd", "rados", "libiscsi", "http", "net", "rdma"))
"""Engines of fio that reach their storage over the network, past the block devices of the machine."""


def over_network(attributes: Mapping[str, Scalar]) -> bool:
    """Return whether a load with these attributes is known to reach its storage past the block devices of its
    machine. Of recordings that do not say so, fio's engine tells.

    >>> over_network({"over_network": True}), over_network({"ioengine": "nbd"}), over_network({"ioengine": "libaio"})
    (True, True, False)
    """
    said = attributes.get("over_network")
    return said if isinstance(said, bool) else attributes.get("ioengine") in FIO_OVER_NETWORK
