"""What a Purity release means by `usec_per_read_op` and `usec_per_write_op`."""

from __future__ import annotations

import re

_WITH_QUEUE = ((6, 3, 14), (6, 4, 10))
"""From these releases on the field includes the time in the array's queue (vendor's REST 2 model text)."""


def total_holds_queue(release: str) -> bool | None:
    """Whether usec_per_*_op includes the queue time. None: the release cannot be read.

    >>> [total_holds_queue(release) for release in ("5.0.0", "6.3.13", "6.3.14", "6.4.9", "6.4.10", "6.6.3")]
    [False, False, True, False, True, True]
    """
    found = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", release)
    if found is None:
        return None
    number = (int(found[1]), int(found[2]), int(found[3]))
    older, newer = _WITH_QUEUE
    return number >= newer or older <= number < (older[0], older[1] + 1)


def service_time(
    total: int | float | None, queue: int | float | None, holds_queue: bool | None
) -> int | float | None:
    """Service time from the array's total where the array does not tell it apart. None: it cannot be told.

    >>> service_time(225, 15, holds_queue=True), service_time(210, 15, holds_queue=False)
    (210, 210)
    """
    if total is None or holds_queue is None:
        return None
    if not holds_queue:
        return total
    return None if queue is None else max(0, total - queue)
