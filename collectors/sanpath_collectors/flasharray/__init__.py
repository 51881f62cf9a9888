"""Pure Storage FlashArray over REST 2: latency by component, throughput, ports and path balance."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.flasharray.config import FlashArrayConfig
from sanpath_collectors.flasharray.tables import ARRAY, ARRAY_PORT, HOST, PATH, VOLUME

COLLECTOR = Spec(
    name="flasharray",
    title="Pure Storage FlashArray (REST 2)",
    config=FlashArrayConfig,
    collector="sanpath_collectors.flasharray.collector:FlashArray",
    tables=(ARRAY, VOLUME, HOST, ARRAY_PORT, PATH),
    rights=(
        Right(
            "API token of a user with the role readonly",
            "every endpoint that is read",
            "the array's part of the latency, and whether its ports are full, are unknown",
        ),
    ),
)
