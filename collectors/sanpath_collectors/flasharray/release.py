"""The meaning of `usec_per_read_op` and `usec_per_write_op` in a Purity release."""

from __future__ import annotations

import re

_INCLUDES_QUEUE_SINCE = ((6, 3, 14), (6, 4, 10))
"""Since these releases the field includes the time in the array's queue (vendor's REST 2 model text)."""


def total_includes_queue_time(release: str) -> bool | None:
    """Whether usec_per_*_op includes the queue time. None: the release cannot be parsed.

    >>> [total_includes_queue_time(release) for release in ("5.0.0", "6.3.13", "6.3.14", "6.4.9", "6.4.10", "6.6.3")]
    [False, False, True, False, True, True]
    """
    match = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", release)
    if match is None:
        return None
    number = (int(match[1]), int(match[2]), int(match[3]))
    older_branch, newer_branch = _INCLUDES_QUEUE_SINCE
    return number >= newer_branch or older_branch <= number < (older_branch[0], older_branch[1] + 1)


def service_time(
    total: int | float | None, queue: int | float | None, includes_queue: bool | None
) -> int | float | None:
    """The service time from the array's total, if the array does not report it separately.

    Arguments and result have the same unit. None: it cannot be derived.

    >>> service_time(225, 15, includes_queue=True), service_time(210, 15, includes_queue=False)
    (210, 210)
    """
    if total is None or includes_queue is None:
        return None
    if not includes_queue:
        return total
    return None if queue is None else max(0, total - queue)
