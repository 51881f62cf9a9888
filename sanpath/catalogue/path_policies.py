"""Multipath policies, by how they choose the path of an I/O: values of the attribute path_policy."""

from __future__ import annotations

IN_TURN_POLICIES = ("round_robin",)
"""They send some I/Os over a path, then as many over the next."""
ADAPTIVE_POLICIES = ("service_time", "queue_length", "least_queue_depth")
"""They give a path as much as it can carry."""
SINGLE_PATH_POLICIES = ("most_recently_used", "fixed", "failover_only")
"""They use one path until it fails."""
